#include "troupe/coordinators/job/data_check.hpp"

#include <cmath>
#include <string>

namespace troupe {

namespace {

void check_lanes(problem_list& check, const data_options& x, bool rows_elsewhere) {
  const bool has_test_file = !x.test_file.empty();
  check.require(!has_test_file || rows_elsewhere || !x.file.empty(), "data.test_file",
                "the job names rows for testing but no data.file", "name the rows to train on");
  check.require(!has_test_file || x.test_fraction == 0, "data.test_fraction",
                "the rows for testing come from data.test_file", "keep one of the two");
  check.in_bounds("data.chunk_rows", x.lanes.chunk_rows);
  check.in_bounds("data.window_rows", x.lanes.window_rows);
  const bool by_lanes = x.shuffle == shuffle_kind::lanes;
  const std::string hint = "set data.shuffle = \"lanes\", or leave it out";
  check.require(by_lanes || !x.lanes.chunk_rows, "data.chunk_rows", "belongs to lanes", hint);
  check.require(by_lanes || !x.lanes.window_rows, "data.window_rows", "belongs to lanes", hint);
}

} // namespace

void check_data(problem_list& check, const data_options& x, bool rows_elsewhere) {
  const bool synthetic = x.synthetic != synthetic_kind::none;
  check.require(synthetic || rows_elsewhere || !x.file.empty(), "data.file",
                "the job names no data",
                "set data.file to a file of rows, or data.synthetic to \"classification\" or "
                "\"regression\"");
  check.require(!synthetic || x.file.empty(), "data.synthetic",
                "the job names a file and asks for synthetic data", "keep one of the two");
  check.in_bounds("data.rows", x.rows);
  check.in_bounds("data.features", x.features);
  check.in_bounds("data.classes", x.classes);
  check.in_bounds("data.targets", x.targets);
  check.require(x.noise >= 0 && std::isfinite(x.noise), "data.noise", "must be 0 or more",
                "use a number such as 0.1");
  check.require(!x.target.empty(), "data.target", "must not be empty",
                "use \"last\", a column's name or its number counted from 0");
  for (auto name = x.ignore.begin(); name != x.ignore.end(); ++name) {
    check.require(!name->empty(), "data.ignore", "a column has no name",
                  "use a column's name or its number counted from 0");
    check.require(std::find(x.ignore.begin(), name, *name) == name, "data.ignore",
                  "'" + *name + "' is named twice", "name it once");
  }
  check.require(x.ignore.empty() || !synthetic, "data.ignore",
                "the data are made by a rule, which makes features only", "leave it out");
  check.in_bounds("data.index_base", x.index_base);
  check.in_bounds("data.hash_bits", x.hash_bits);
  const bool has_labels = !x.labels_file.empty();
  check.require(!has_labels || rows_elsewhere || !x.file.empty(), "data.labels_file",
                "the job names labels but no data.file", "name the rows that they belong to");
  check.require(!has_labels || (x.format != data_format::csv && x.format != data_format::libsvm),
                "data.labels_file", std::string{name_of(x.format)} + " files hold their targets",
                "leave data.labels_file out");
  check.require(!has_labels || x.target == "last", "data.target",
                "the targets come from data.labels_file", "keep one of the two");
  check.require(x.test_fraction >= 0 && x.test_fraction < 1, "data.test_fraction",
                "must be in [0, 1)", "use a share of the rows such as 0.25");
  check.require(x.validation_fraction >= 0 && x.validation_fraction < 1, "data.validation_fraction",
                "must be in [0, 1)", "use a share of the rows such as 0.1");
  check.require(!(x.test_fraction < 1 && x.validation_fraction < 1) ||
                  x.test_fraction + x.validation_fraction < 1,
                "data.validation_fraction", "leaves no rows for training beside data.test_fraction",
                "keep the sum of the two below 1");
  check_lanes(check, x, rows_elsewhere);
}

} // namespace troupe
