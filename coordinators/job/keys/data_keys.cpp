// Section data: which rows a job trains on, and in which order.

#include "coordinators/job/keys/job_keys.hpp"
#include "coordinators/job/keys/key_limits.hpp"

#include <memory>

namespace troupe {

namespace {

using text_list = std::vector<std::string>;

/// A column's name, or its index as a bare number.
class column_type final : public type_for<std::string> {
public:
  std::string words() const override { return "string or integer"; }
  void read(std::string& out, const toml_value& value, const std::string& path,
            complaints& found) const override {
    uint64_t index = 0;
    if (!value.as<int64_t>())
      accepted(read_value(value, out), value, path, found);
    else if (accepted(read_whole(value, within(0, columns_max - 1), index), value, path, found))
      out = std::to_string(index);
  }
  std::optional<std::string> text(const std::string& x) const override { return toml_text(x); }
};

/// A list of texts, or one of them; whole numbers are texts too: indexes of columns, or cells such as -999.
class texts_type final : public type_for<text_list> {
public:
  explicit texts_type(bool are_columns) : are_columns_(are_columns) {}
  std::string words() const override { return "list of strings or integers"; }
  void read(text_list& out, const toml_value& value, const std::string& path,
            complaints& found) const override {
    const auto* list = value.as<toml_value::list>();
    text_list result;
    for (const auto& one : list ? *list : toml_value::list{value})
      if (const auto* number = one.as<int64_t>(); number && !are_columns_)
        result.push_back(std::to_string(*number));
      else
        column_type{}.read(result.emplace_back(), one, path, found);
    out = result;
  }
  std::optional<std::string> text(const text_list& x) const override { return toml_text(x); }

private:
  bool are_columns_;
};

const auto column = std::make_shared<column_type>();
const auto columns = std::make_shared<texts_type>(true);

template <class Enum>
type_ptr<Enum> choice_or_bool() {
  return std::make_shared<choice_type<Enum>>(values_of<Enum>(), true);
}

using data_section = key_section<job, data_options>;

void add_origin(data_section& data) {
  using x = data_options;
  data
    .add("file", &x::file,
         {"rows to train on; the path is relative to the file that names it", "none"})
    .as_file();
  data
    .add(
      "holdings", &x::holdings,
      {"files of rows, each a holding that is read, split and judged by itself, and trained on in "
       "proportion: a path, whose last part may have * and ?",
       "none", "write \"parts/*.csv\", say"})
    .as_file();
  data.add(
    "at_nodes", &x::at_nodes,
    "nodes of a cluster have rows of their own, which their `data` names in the cluster file");
  data
    .add("table", &x::table,
         {"how rows are read and scaled, in place of what is in them: a table that troupe data "
          "table wrote, a run's table.json, or a model file",
          "none"})
    .as_file();
  data.add("synthetic", &x::synthetic, {"makes rows by a rule instead of reading a file", "none"});
  data.add("rows", &x::rows, within(1, rows_max), "synthetic: rows to make");
  data.add("features", &x::features, within(1, columns_max), "synthetic: feature columns");
  data.add("classes", &x::classes, within(2, columns_max), "synthetic classification: classes");
  data.add("targets", &x::targets, within(1, columns_max), "synthetic regression: target columns");
  data.add("noise", &x::noise, at_least(0),
           {"synthetic: deviation of the noise", "", "use a number such as 0.1"});
  data.add("format", &x::format, "auto: by the file's name, else by its first bytes");
  data.add("header", &x::header, choice_or_bool<csv_header>(),
           "whether row 1 of a csv file is a header; auto: if none of its cells is a number");
}

void add_columns(data_section& data) {
  using x = column_options;
  data.add("target", &x::target, column,
           "column to learn: \"last\", its name, or its index counted from 0");
  data.add("ignore", &x::ignore, columns,
           "csv: columns that are no features, by name or index, whatever is in them");
  data.add("weight", &x::weight, column,
           {"csv: column of what each row counts in the loss, 0 or more; no feature", "none"});
  data.add("split_by", &x::split_by, column,
           {"csv: column of groups, whose rows stay together for training, "
            "validation or testing; no feature",
            "none"});
  data.add("categorical", &x::categorical, columns,
           "csv: columns, by name or index, of which each value becomes a feature, 1 or 0");
  data.add("categories_max", &x::categories_max, within(1, columns_max),
           "csv: features that categories may make, of all columns");
  data.add("boolean", &x::boolean, columns,
           "csv: columns, by name or index, of true or false, yes or no, t or f, y or n, 1 or 0");
  data.add("date", &x::date, columns,
           "csv: columns, by name or index, of dates such as 2024-02-29: days since "
           "2000-01-01, month and weekday");
  data.add("datetime", &x::datetime, columns,
           "csv: columns, by name or index, of dates with a time such as 2024-02-29T13:05: as "
           "date, and the hour");
  data.add("date_order", &x::date_order,
           "csv: what comes first in dates such as 9/29/2021; 2021-09-29 is read in any case");
  data.add("amount", &x::amount, columns,
           "csv: columns, by name or index, the target too, of numbers such as 1,234.5, $12, 12 "
           "EUR or 12%");
  data.add("missing", &x::missing,
           "csv: cells without a value are an error, become the mean of the training "
           "rows, or drop their row");
  data.add("missing_cells", &x::missing_cells, std::make_shared<texts_type>(false),
           "csv: texts of cells without a value; no text is always one");
  data.add("missing_indicator", &x::missing_indicator,
           "mean: a feature for each column with gaps, 1 where its cell is missing");
}

void add_cells(const data_section& data) {
  using x = cell_options;
  auto cells = data.within(&data_options::cells);
  const auto letter = std::make_shared<text_type>("string of one letter");
  const auto add_letter = [&](const char* name, std::string x::*member,
                              const key_texts& about) -> job_key& {
    return cells.add(name, member, letter, about);
  };
  add_letter("separator", &x::separator, "csv: what stands between cells");
  add_letter("quote", &x::quote, "csv: what stands around cells that hold separators");
  add_letter("decimal", &x::decimal, "csv: the decimal mark, \".\" or \",\"");
  add_letter("comment", &x::comment, {"csv: what lines begin with that are none", "none"});
  cells.add("skip_lines", &x::skip_lines, within(0, 1'000'000),
            "csv: lines above row 1 that are not looked at");
}

void add_other_formats(data_section& data) {
  using x = data_options;
  data.add("index_base", &x::index_base, within(0, 1),
           "libsvm: index of the first feature, 0 or 1");
  data.add("dense", &x::dense, choice_or_bool<row_form>(),
           "libsvm: whether rows become dense; auto: if they have at most 256 features, or a "
           "quarter of their values");
  data.add("hash_bits", &x::hash_bits, within(4, 30),
           {"libsvm: features are hashed to 2 to the power of so many", "as they are"});
  auto text = data.within(&x::text);
  text.add("window", &window_options::window, within(1, columns_max),
           "text: characters that a row has; the next one is its class");
  text.add("stride", &window_options::stride, within(1, rows_max),
           "text: characters from one row to the next");
  data
    .add("labels_file", &x::labels_file,
         {"idx, npy: the targets; the path is relative to the file that names it",
          "labels-idx1 beside images-idx3 by name, else a column"})
    .as_file();
}

void add_parts(data_section& data) {
  using x = part_options;
  data.add("test_fraction", &x::test_fraction, from_to_below(0, 1),
           {"part of the rows kept for testing, rounded down; 0: no test figures", "",
            "use a share of the rows such as 0.25"});
  data.add("validation_fraction", &x::validation_fraction, from_to_below(0, 1),
           {"part of the rows kept for choosing when to stop and what to keep", "",
            "use a share of the rows such as 0.1"});
  data.add("stratify", &x::stratify, "classes keep their shares in the parts");
  data.add("folds", &x::folds, within(2, folds_max),
           {"parts that rows which are not for testing are split into", "none"});
  data.add("fold", &x::fold, within(0, folds_max - 1),
           {"which of them is for validation, from 0", "none"});
  data.add("standardize", &data_options::standardize,
           "scales features to mean 0 and deviation 1, by the training rows; those of sparse "
           "rows to 1 at most, without a shift");
  data.add("target_scale", &data_options::target_scale,
           {"regression: what is learned in place of targets, scaled to mean 0 and deviation 1 by "
            "the training rows; "
            "figures and predictions stay in their unit",
            "standardize for networks with the loss squared, absolute or huber, else none"});
  data
    .add("test_file", &data_options::test_file,
         {"rows for testing, in a file of their own beside data.file", "none"})
    .as_file()
    .affects(key_effect::rows);
  data
    .add("validation_file", &data_options::validation_file,
         {"rows for validation, in a file of their own beside data.file", "none"})
    .as_file()
    .affects(key_effect::rows);
}

void add_order(data_section& data) {
  data.add("shuffle", &data_options::shuffle,
           "order of an epoch: of all rows, in memory; or lanes, by windows of chunks");
  auto lanes = data.within(&data_options::lanes);
  lanes.add("chunk_rows", &lane_sizes::chunk_rows, within(1, rows_max),
            {"lanes: rows that are read together", "the file's, else 1 MiB of rows"});
  lanes.add("window_rows", &lane_sizes::window_rows, within(1, rows_max),
            {"lanes: rows that are shuffled together, of all slices", "64 MiB of rows"});
}

} // namespace

void add_data_keys(job_key_rows& out) {
  data_section data{out, "data", &job::data};
  add_origin(data);
  add_columns(data);
  add_cells(data);
  add_other_formats(data);
  for (auto& key : out)
    if (key.path.starts_with("data."))
      key.affects(key_effect::rows);
  add_parts(data);
  add_order(data);
}

} // namespace troupe
