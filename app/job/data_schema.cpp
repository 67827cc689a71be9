#include "troupe/app/job/data_schema.hpp"

namespace troupe {

namespace {

// "last", a column's name, or its index as a bare number.
void set_target(job& target, const toml_value& value, const std::string& path,
                std::vector<complaint>& complaints) {
  uint64_t index = 0;
  if (!value.as<int64_t>())
    detail::accepted(read_value(value, target.data.target), value, path, complaints);
  else if (detail::accepted(read_whole(value, bounds_of("data.target"), index), value, path,
                            complaints))
    target.data.target = std::to_string(index);
}

// A list of names or of indexes, or one of them.
void set_ignore(job& target, const toml_value& value, const std::string& path,
                std::vector<complaint>& complaints) {
  const auto* list = value.as<toml_value::list>();
  std::vector<std::string> columns;
  for (const auto& one : list ? *list : toml_value::list{value}) {
    uint64_t index = 0;
    if (!one.as<int64_t>())
      detail::accepted(read_value(one, columns.emplace_back()), one, path, complaints);
    else if (detail::accepted(read_whole(one, bounds_of("data.target"), index), one, path,
                              complaints))
      columns.push_back(std::to_string(index));
  }
  target.data.ignore = columns;
}

// Everybody's true and false beside the three names.
schema_key<job> header_key() {
  auto key = choice_key<job, header_kind>(
    {"data.header",
     "whether row 1 of a csv file is a header; auto: if none of its cells is a number"},
    [](auto& x) -> auto& { return x.data.header; });
  key.type += ", or true | false";
  key.set = [by_name = key.set](job& target, const toml_value& value, const std::string& path,
                                std::vector<complaint>& complaints) {
    if (const auto* is_header = value.as<bool>())
      target.data.header = *is_header ? header_kind::yes : header_kind::no;
    else
      by_name(target, value, path, complaints);
  };
  return key;
}

schema_key<job> dense_key() {
  auto key = choice_key<job, dense_kind>(
    {"data.dense",
     "libsvm: whether rows become dense; auto: if they have at most 256 features, or a "
     "quarter of their values"},
    [](auto& x) -> auto& { return x.data.dense; });
  key.type += ", or true | false";
  key.set = [by_name = key.set](job& target, const toml_value& value, const std::string& path,
                                std::vector<complaint>& complaints) {
    if (const auto* is_dense = value.as<bool>())
      target.data.dense = *is_dense ? dense_kind::yes : dense_kind::no;
    else
      by_name(target, value, path, complaints);
  };
  return key;
}

} // namespace

std::optional<std::string> text_or_unset(const std::string& text) {
  return text.empty() ? std::nullopt : std::optional{toml_text(text)};
}

void add_data_keys(std::vector<job_key>& out) {
  auto file = plain_key<job, std::string>(
    {"data.file", "rows to train on; the path is relative to the file that names it", "none"},
    "string", [](auto& x) -> auto& { return x.data.file; });
  file.get = [](const job& x) { return text_or_unset(x.data.file); };
  out.push_back(file);
  out.push_back(choice_key<job, synthetic_kind>(
    {"data.synthetic", "makes rows by a rule instead of reading a file", "none"},
    [](auto& x) -> auto& { return x.data.synthetic; }));
  out.push_back(whole_key<job>(
    {"data.rows", "synthetic: rows to make"}, [](auto& x) -> auto& { return x.data.rows; }));
  out.push_back(whole_key<job>(
    {"data.features", "synthetic: feature columns"},
    [](auto& x) -> auto& { return x.data.features; }));
  out.push_back(whole_key<job>(
    {"data.classes", "synthetic classification: classes"},
    [](auto& x) -> auto& { return x.data.classes; }));
  out.push_back(whole_key<job>(
    {"data.targets", "synthetic regression: target columns"},
    [](auto& x) -> auto& { return x.data.targets; }));
  out.push_back(plain_key<job, double>(
    {"data.noise", "synthetic: deviation of the noise"}, "number >= 0",
    [](auto& x) -> auto& { return x.data.noise; }));
  out.push_back(choice_key<job, data_format>(
    {"data.format", "auto: by the file's name, else by its first bytes"},
    [](auto& x) -> auto& { return x.data.format; }));
  out.push_back(header_key());
  out.push_back({"data.target",
                 "string or integer",
                 {},
                 "column to learn: \"last\", its name, or its index counted from 0",
                 false,
                 set_target,
                 [](const job& x) { return std::optional{toml_text(x.data.target)}; },
                 copier<job>([](auto& x) -> auto& { return x.data.target; })});
  out.push_back({"data.ignore",
                 "list of strings or integers",
                 {},
                 "csv: columns that are no features, by name or index, whatever is in them",
                 false,
                 set_ignore,
                 [](const job& x) { return std::optional{toml_text(x.data.ignore)}; },
                 copier<job>([](auto& x) -> auto& { return x.data.ignore; })});
  out.push_back(whole_key<job>(
    {"data.index_base", "libsvm: index of the first feature, 0 or 1"},
    [](auto& x) -> auto& { return x.data.index_base; }));
  out.push_back(dense_key());
  out.push_back(whole_key<job>(
    {"data.hash_bits", "libsvm: features are hashed to 2 to the power of so many", "as they are"},
    [](auto& x) -> auto& { return x.data.hash_bits; }));
  auto labels = plain_key<job, std::string>(
    {"data.labels_file", "idx, npy: the targets; the path is relative to the file that names it",
     "labels-idx1 beside images-idx3 by name, else a column"},
    "string", [](auto& x) -> auto& { return x.data.labels_file; });
  labels.get = [](const job& x) { return text_or_unset(x.data.labels_file); };
  out.push_back(labels);
  out.push_back(plain_key<job, double>(
    {"data.test_fraction", "part of the rows kept for testing, rounded down; 0: no test figures"},
    "number in [0, 1)", [](auto& x) -> auto& { return x.data.test_fraction; }));
  out.push_back(plain_key<job, double>(
    {"data.validation_fraction",
     "part of the rows kept for choosing when to stop and what to keep"},
    "number in [0, 1)", [](auto& x) -> auto& { return x.data.validation_fraction; }));
  out.push_back(plain_key<job, bool>(
    {"data.standardize",
     "scales features to mean 0 and deviation 1, by the training rows; those of sparse "
     "rows to 1 at most, without a shift"},
    "true or false", [](auto& x) -> auto& { return x.data.standardize; }));
  auto test_file = plain_key<job, std::string>(
    {"data.test_file", "rows for testing, in a file of their own beside data.file", "none"},
    "string", [](auto& x) -> auto& { return x.data.test_file; });
  test_file.get = [](const job& x) { return text_or_unset(x.data.test_file); };
  out.push_back(test_file);
  out.push_back(choice_key<job, shuffle_kind>(
    {"data.shuffle", "order of an epoch: of all rows, in memory; or lanes, by windows of chunks"},
    [](auto& x) -> auto& { return x.data.shuffle; }));
  out.push_back(whole_key<job>(
    {"data.chunk_rows", "lanes: rows that are read together", "the file's, else 1 MiB of rows"},
    [](auto& x) -> auto& { return x.data.lanes.chunk_rows; }));
  out.push_back(whole_key<job>(
    {"data.window_rows", "lanes: rows that are shuffled together, of all slices", "64 MiB of rows"},
    [](auto& x) -> auto& { return x.data.lanes.window_rows; }));
}

// A key of the schedule as a key of the job.

} // namespace troupe
