#include "troupe/coordinators/job/sparse_problems.hpp"

#include <string>

namespace troupe {

namespace {

bool solves(const job& x) {
  return scope_of(x.optimizer.kind) == optimizer_scope::solver;
}

bool by_lanes(const job& x) {
  return x.data.shuffle == shuffle_kind::lanes;
}

bool cuts_first_layer(const model_options& x) {
  return x.cuts.value_or(1) > 1 && (x.cut.empty() || x.cut.front() != layer_cut::none);
}

} // namespace

bool needs_dense_rows(const job& x) {
  return solves(x) || x.model.own.is_set() || cuts_first_layer(x.model) || by_lanes(x) ||
         !x.data.test_file.empty() || !x.data.validation_file.empty();
}

std::vector<job_problem> sparse_problems(const job& x) {
  std::vector<job_problem> result;
  const auto& data = x.data;
  const bool is_libsvm =
    data.synthetic == synthetic_kind::none &&
    (data.format == data_format::libsvm || data.format == data_format::by_name);
  const bool sparse = data.dense == dense_kind::no;
  if (!is_libsvm && sparse)
    result.push_back({"data.dense", "only libsvm files have sparse rows", "leave data.dense out"});
  if (!is_libsvm && data.hash_bits)
    result.push_back({"data.hash_bits", "belongs to libsvm files", "leave data.hash_bits out"});
  if (!is_libsvm && data.index_base != data_options{}.index_base)
    result.push_back({"data.index_base", "belongs to libsvm files", "leave data.index_base out"});
  if (sparse && solves(x))
    result.push_back(
      {"optimizer.kind",
       std::string{name_of(x.optimizer.kind)} + " solves for dense rows, but data.dense is false",
       "use lbfgs, or leave data.dense out"});
  if (sparse && cuts_first_layer(x.model))
    result.push_back({"model.cuts",
                      "the first layer reads sparse rows and is not cut, since data.dense is false",
                      "let model.cut begin with \"none\", use model.cuts = 1, or leave data.dense "
                      "out"});
  if (sparse && by_lanes(x))
    result.push_back({"data.shuffle", "lanes have dense rows, but data.dense is false",
                      "leave one of the two out"});
  for (const std::string part : {"test", "validation"})
    if (sparse && !(part == "test" ? data.test_file : data.validation_file).empty())
      result.push_back({"data." + part + "_file", "belongs to dense rows, but data.dense is false",
                        "use data." + part + "_fraction, or leave data.dense out"});
  return result;
}

} // namespace troupe
