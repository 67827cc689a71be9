#include "troupe/data/formats/libsvm/libsvm_reader.hpp"

#include <limits>
#include <utility>

namespace troupe {

namespace {

libsvm_row_options options_of(size_t index_base, size_t feature_count, const libsvm_form& form) {
  libsvm_row_options result;
  result.index_base = index_base;
  result.hash_bits = form.hash_bits;
  if (form.hash_bits == 0)
    result.features_max = feature_count;
  return result;
}

} // namespace

libsvm_reader::libsvm_reader(const std::string& path, size_t index_base, size_t feature_count,
                             const libsvm_form& form)
  : row_reader(path, path),
    rows_(path, options_of(index_base, feature_count, form)),
    feature_count_(feature_count),
    sparse_(form.sparse) {
  std::vector<std::string> names;
  const auto first = form.hash_bits == 0 ? index_base : 0;
  for (size_t feature = 0; feature < feature_count && !sparse_; ++feature)
    names.push_back(std::to_string(feature + first));
  const auto label = names.size();
  names.emplace_back("label");
  set_columns(std::move(names), false);
  set_targets({label});
}

bool libsvm_reader::read_rows(table_chunk& out, size_t rows_max) {
  out.clear();
  if (sparse_)
    out.sparse.starts = {0};
  while (out.row_count < rows_max && rows_.next(row_))
    keep(out);
  return out.row_count > 0;
}

void libsvm_reader::keep(table_chunk& out) const {
  const auto begin = out.features.size();
  out.features.resize(begin + (sparse_ ? 0 : feature_count_));
  for (const auto& entry : row_.entries)
    if (sparse_) {
      out.sparse.features.push_back(entry.feature);
      out.sparse.values.push_back(entry.value);
    } else {
      out.features[begin + entry.feature] = entry.value;
    }
  if (sparse_)
    out.sparse.starts.push_back(out.sparse.features.size());
  out.target_cells.emplace_back(row_.label);
  out.target_numbers.push_back(row_.is_number ? row_.number
                                              : std::numeric_limits<double>::quiet_NaN());
  out.lines.push_back(row_.line);
  ++out.row_count;
}

void libsvm_reader::fail_at_target(const table_chunk& rows, size_t i, const std::string& reason,
                                   const std::string& hint) const {
  fail_at_line(rows, i, reason, hint);
}

} // namespace troupe
