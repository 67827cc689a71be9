#include "troupe/app/job/data_schema.hpp"

#include <utility>

namespace troupe {

namespace {

// A column's name, or its index as a bare number.
schema_key<job> column_key(key_texts texts, std::string column_options::*member) {
  schema_key<job> key{texts.path,
                      "string or integer",
                      texts.fallback,
                      texts.meaning,
                      false,
                      {},
                      [member](const job& x) { return text_or_unset(x.data.*member); },
                      copier<job>([member](auto& x) -> auto& { return x.data.*member; })};
  key.set = [member](job& target, const toml_value& value, const std::string& path,
                     std::vector<complaint>& complaints) {
    uint64_t index = 0;
    if (!value.as<int64_t>())
      detail::accepted(read_value(value, target.data.*member), value, path, complaints);
    else if (detail::accepted(read_whole(value, bounds_of("data.target"), index), value, path,
                              complaints))
      target.data.*member = std::to_string(index);
  };
  return key;
}

// A list of texts, or one of them; whole numbers are texts too: indexes of columns, or cells such as -999.
using texts_of_job = std::vector<std::string>& (*)(job&);

schema_key<job> texts_key(key_texts texts, texts_of_job access, bool are_columns = true) {
  schema_key<job> key{texts.path,
                      "list of strings or integers",
                      texts.fallback,
                      texts.meaning,
                      false,
                      {},
                      [access](const job& x) {
                        auto copy = x;
                        return std::optional{toml_text(access(copy))};
                      },
                      [access](job& to, const job& from) {
                        auto copy = from;
                        access(to) = access(copy);
                      }};
  key.set = [access, are_columns](job& target, const toml_value& value, const std::string& path,
                                  std::vector<complaint>& complaints) {
    const auto* list = value.as<toml_value::list>();
    std::vector<std::string> read;
    for (const auto& one : list ? *list : toml_value::list{value}) {
      uint64_t index = 0;
      const auto* number = one.as<int64_t>();
      if (!number)
        detail::accepted(read_value(one, read.emplace_back()), one, path, complaints);
      else if (!are_columns)
        read.push_back(std::to_string(*number));
      else if (detail::accepted(read_whole(one, bounds_of("data.target"), index), one, path,
                                complaints))
        read.push_back(std::to_string(index));
    }
    access(target) = read;
  };
  return key;
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

schema_key<job> file_key(key_texts texts, std::string part_options::*member) {
  auto key = plain_key<job, std::string>(
    std::move(texts), "string", [member](auto& x) -> auto& { return x.data.*member; });
  key.get = [member](const job& x) { return text_or_unset(x.data.*member); };
  return key;
}

/// One key of how cells are written.
schema_key<job> letter_key(key_texts texts, std::string cell_options::*member) {
  return plain_key<job, std::string>(
    std::move(texts),
    "string of one letter", [member](auto& x) -> auto& { return x.data.cells.*member; });
}

void add_column_keys(std::vector<job_key>& out) {
  out.push_back(texts_key(
    {"data.ignore", "csv: columns that are no features, by name or index, whatever is in them"},
    [](job & x) -> auto& { return x.data.ignore; }));
  out.push_back(
    column_key({"data.weight",
                "csv: column of what each row counts in the loss, 0 or more; no feature", "none"},
               &column_options::weight));
  out.push_back(column_key({"data.split_by",
                            "csv: column of groups, whose rows stay together for training, "
                            "validation or testing; no feature",
                            "none"},
                           &column_options::split_by));
  out.push_back(texts_key(
    {"data.categorical",
     "csv: columns, by name or index, of which each value becomes a feature, 1 or 0"},
    [](job & x) -> auto& { return x.data.categorical; }));
  out.push_back(whole_key<job>(
    {"data.categories_max", "csv: features that categories may make, of all columns"},
    [](auto& x) -> auto& { return x.data.categories_max; }));
  out.push_back(texts_key(
    {"data.boolean",
     "csv: columns, by name or index, of true or false, yes or no, t or f, y or n, 1 or 0"},
    [](job & x) -> auto& { return x.data.boolean; }));
  out.push_back(texts_key(
    {"data.date", "csv: columns, by name or index, of dates such as 2024-02-29: days since "
                  "2000-01-01, month and weekday"},
    [](job & x) -> auto& { return x.data.date; }));
  out.push_back(choice_key<job, missing_kind>(
    {"data.missing", "csv: cells without a value are an error, become the mean of the training "
                     "rows, or drop their row"},
    [](auto& x) -> auto& { return x.data.missing; }));
  out.push_back(texts_key(
    {"data.missing_cells", "csv: texts of cells without a value; no text is always one"},
    [](job & x) -> auto& { return x.data.missing_cells; }, false));
  out.push_back(plain_key<job, bool>(
    {"data.missing_indicator",
     "mean: a feature for each column with gaps, 1 where its cell is missing"},
    "true or false", [](auto& x) -> auto& { return x.data.missing_indicator; }));
  out.push_back(
    letter_key({"data.separator", "csv: what stands between cells"}, &cell_options::separator));
  out.push_back(letter_key({"data.quote", "csv: what stands around cells that hold separators"},
                           &cell_options::quote));
  out.push_back(
    letter_key({"data.decimal", "csv: the decimal mark, \".\" or \",\""}, &cell_options::decimal));
  auto comment = letter_key({"data.comment", "csv: what lines begin with that are none", "none"},
                            &cell_options::comment);
  comment.get = [](const job& x) { return text_or_unset(x.data.cells.comment); };
  out.push_back(comment);
  out.push_back(whole_key<job>(
    {"data.skip_lines", "csv: lines above row 1 that are not looked at"},
    [](auto& x) -> auto& { return x.data.cells.skip_lines; }));
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
  auto target =
    column_key({"data.target", "column to learn: \"last\", its name, or its index counted from 0"},
               &column_options::target);
  target.get = [](const job& x) { return std::optional{toml_text(x.data.target)}; };
  out.push_back(target);
  add_column_keys(out);
  out.push_back(whole_key<job>(
    {"data.index_base", "libsvm: index of the first feature, 0 or 1"},
    [](auto& x) -> auto& { return x.data.index_base; }));
  out.push_back(dense_key());
  out.push_back(whole_key<job>(
    {"data.hash_bits", "libsvm: features are hashed to 2 to the power of so many", "as they are"},
    [](auto& x) -> auto& { return x.data.hash_bits; }));
  out.push_back(whole_key<job>(
    {"data.window", "text: characters that a row has; the next one is its class"},
    [](auto& x) -> auto& { return x.data.text.window; }));
  out.push_back(whole_key<job>(
    {"data.stride", "text: characters from one row to the next"},
    [](auto& x) -> auto& { return x.data.text.stride; }));
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
    {"data.stratify", "classes keep their shares in the parts"}, "true or false",
    [](auto& x) -> auto& { return x.data.stratify; }));
  out.push_back(whole_key<job>(
    {"data.folds", "parts that rows which are not for testing are split into", "none"},
    [](auto& x) -> auto& { return x.data.folds; }));
  out.push_back(whole_key<job>(
    {"data.fold", "which of them is for validation, from 0", "none"},
    [](auto& x) -> auto& { return x.data.fold; }));
  out.push_back(plain_key<job, bool>(
    {"data.standardize",
     "scales features to mean 0 and deviation 1, by the training rows; those of sparse "
     "rows to 1 at most, without a shift"},
    "true or false", [](auto& x) -> auto& { return x.data.standardize; }));
  out.push_back(file_key(
    {"data.test_file", "rows for testing, in a file of their own beside data.file", "none"},
    &part_options::test_file));
  out.push_back(file_key({"data.validation_file",
                          "rows for validation, in a file of their own beside data.file", "none"},
                         &part_options::validation_file));
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

} // namespace troupe
