#include "app/predict/model_rows.hpp"

#include "app/terminal/figures_text.hpp"
#include "app/terminal/output.hpp"
#include "data/formats/arrays/read_array.hpp"
#include "data/formats/csv/csv_reader.hpp"
#include "data/formats/libsvm/libsvm.hpp"
#include "data/formats/text/read_text.hpp"
#include "data/rows_file/rows_file.hpp"
#include "data/text/failure.hpp"
#include "data/text/shown_text.hpp"
#include "models/keys/closest_name.hpp"
#include "models/segments/segment_chain.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <string_view>
#include <utility>

namespace troupe {

namespace {

constexpr size_t names_shown_max = 8;

// Without a header columns are called by their index: such names are not compared.
bool has_names(const std::vector<std::string>& names) {
  const auto is_index = [](const std::string& name) {
    return std::ranges::all_of(name, [](char letter) { return letter >= '0' && letter <= '9'; });
  };
  return !std::ranges::all_of(names, is_index);
}

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

// "missing 'a', 'b'": the names of `wanted` that `found` does not have.
std::string difference(const char* what, const std::vector<std::string>& wanted,
                       const std::vector<std::string>& found) {
  std::string result;
  size_t count = 0;
  for (const auto& name : wanted) {
    if (contains(found, name))
      continue;
    if (++count <= names_shown_max)
      result += (count == 1 ? std::string{what} + " " : ", ") + shown_text(name);
  }
  if (count > names_shown_max)
    result += " and " + std::to_string(count - names_shown_max) + " more";
  return result;
}

// Of the file's other columns those that are called nearly so: the rest need not be the model's.
std::string differences(const std::vector<std::string>& wanted,
                        const std::vector<std::string>& found) {
  std::vector<std::string> surplus;
  std::ranges::copy_if(found, std::back_inserter(surplus),
                       [&](const std::string& name) { return !contains(wanted, name); });
  auto result = difference("missing", wanted, found);
  size_t count = 0;
  for (const auto& name : wanted)
    if (const auto near = closest_name(name, surplus); !near.empty() && !contains(found, name))
      result += (count++ == 0 ? "; the file has " : ", ") + shown_text(near);
  return result;
}

std::string plural(size_t count, const std::string& what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

// Columns that features are made of.
size_t input_count(const saved_model& model) {
  return model.columns.empty() ? model.network->feature_count() : model.columns.columns.size();
}

[[noreturn]] void refuse_count(const saved_model& model, const row_reader& reader) {
  throw failure(failure_code::bad_data,
                "the file has " + plural(reader.column_count(), "column") + "; the model takes " +
                  plural(input_count(model), "feature") + ", and " +
                  plural(model.target_names.size(), "target") + " may follow",
                reader.path(), "'troupe inspect " + model.path + "' lists the model's features");
}

// The columns called as the names say, in their order.
std::vector<size_t> columns_called(const std::vector<std::string>& names,
                                   const row_reader& reader) {
  std::map<std::string_view, size_t> columns;
  for (size_t column = 0; column < reader.column_count(); ++column)
    columns.emplace(reader.column_names()[column], column);
  std::vector<size_t> result;
  for (const auto& name : names)
    if (const auto found = columns.find(name); found != columns.end())
      result.push_back(found->second);
  return result;
}

// The targets' columns: as asked, else by the model's names, else the last ones. A column without
// a name is called by its index, so a model trained without names finds its own again.
std::vector<size_t> target_columns(const saved_model& model, const row_reader& reader,
                                   const std::string& target) {
  if (!target.empty())
    return {reader.find_column(target)};
  auto result = columns_called(model.target_names, reader);
  if (result.size() == model.target_names.size())
    return result;
  result.clear();
  for (size_t t = model.target_names.size(); t > 0; --t)
    result.push_back(reader.column_count() - t);
  return result;
}

std::string listed_columns(const row_reader& reader, const std::vector<size_t>& columns) {
  std::string result;
  for (size_t i = 0; i < std::min(columns.size(), names_shown_max); ++i)
    result += (i == 0 ? "" : ", ") + shown_text(reader.column_names()[columns[i]]);
  if (columns.size() > names_shown_max)
    result += " and " + std::to_string(columns.size() - names_shown_max) + " more";
  return result;
}

std::string assumption_of(const row_reader& reader, const std::vector<size_t>& targets,
                          const std::vector<size_t>& ignored = {}) {
  auto result = reader.path() + ": " + plural(reader.column_count(), "column") + ", ";
  if (!ignored.empty())
    result += listed_columns(reader, ignored) + " ignored, ";
  if (targets.empty())
    return result + (ignored.empty() ? "all taken for features, none for a target"
                                     : "none taken for a target");
  return result + listed_columns(reader, targets) + " taken for the target" +
         (targets.size() == 1 ? "" : "s");
}

// To a model of characters a file is a text unless its name says otherwise.
file_format format_for(const saved_model& model, const data_arguments& data) {
  if (data.format == "auto" && model.reads_text)
    return format_by_name(data.file).value_or(file_format::text);
  return format_option(data);
}

// Of columns without names only the number can be reported, so the reader counts further ones.
std::unique_ptr<array_reader> open_array(const saved_model& model, const data_arguments& data) {
  const auto columns = model.network->feature_count() + model.target_names.size();
  return std::make_unique<array_reader>(data.file, std::max(columns, csv_options{}.columns_max));
}

// The file that holds the targets of the array; empty when it is a column of the array, or none.
std::string labels_for(const saved_model& model, const row_reader& reader,
                       const data_arguments& data) {
  const bool features_only = reader.column_count() == model.network->feature_count();
  return data.labels_file.empty() && features_only ? labels_beside(data.file) : data.labels_file;
}

// Columns of a file with names, matched with the model's: features in any order, and all others.
struct named_columns {
  std::vector<size_t> features;
  std::vector<size_t> targets;
  std::vector<size_t> others;
};

// Of each column of a file, whether it is one of these.
std::vector<bool> marked(const row_reader& reader, const std::vector<size_t>& columns) {
  std::vector<bool> result(reader.column_count(), false);
  for (const auto column : columns)
    result[column] = true;
  return result;
}

[[noreturn]] void refuse_names(const saved_model& model, const row_reader& reader,
                               const std::vector<size_t>& targets) {
  const auto is_target = marked(reader, targets);
  std::vector<std::string> found;
  for (size_t column = 0; column < reader.column_count(); ++column)
    if (!is_target[column])
      found.push_back(reader.column_names()[column]);
  throw failure(failure_code::bad_data,
                "the columns are not the model's features: " +
                  differences(model.column_names(), found),
                reader.path() + ":1",
                "call the columns as the model does, in any order, or leave the header out");
}

// The only column that is no feature is the target where one is needed.
named_columns match_names(const saved_model& model, const row_reader& reader,
                          const std::string& target, target_wish wish) {
  const auto count = model.target_names.size();
  named_columns result{columns_called(model.column_names(), reader), {}, {}};
  if (!target.empty())
    result.targets = {reader.find_column(target)};
  else if (auto called = columns_called(model.target_names, reader); called.size() == count)
    result.targets = std::move(called);
  if (result.features.size() != input_count(model))
    refuse_names(model, reader, result.targets);
  const auto is_feature = marked(reader, result.features);
  const auto is_target = marked(reader, result.targets);
  for (const auto column : result.targets)
    if (is_feature[column])
      throw failure(failure_code::usage,
                    shown_text(reader.column_names()[column]) + " is a feature of the model",
                    "--target", "name the column of the target");
  for (size_t column = 0; column < reader.column_count(); ++column)
    if (!is_feature[column] && !is_target[column])
      result.others.push_back(column);
  if (result.targets.empty() && wish == target_wish::needed && result.others.size() == count)
    std::swap(result.targets, result.others);
  return result;
}

[[noreturn]] void refuse_without_target(const std::string& path, const std::string& reason) {
  throw failure(failure_code::bad_data, reason + ", and so no target", path,
                "to compare predictions with, add the target's column, or name it: --target");
}

model_rows open_by_names(const saved_model& model, std::unique_ptr<row_reader> reader,
                         const data_arguments& data, target_wish wish) {
  const auto columns = match_names(model, *reader, data.target, wish);
  if (columns.targets.empty() && wish == target_wish::needed)
    refuse_without_target(data.file, "the file has the model's features, no column " +
                                       shown_text(model.target_names.front()));
  reader->set_targets(columns.targets);
  reader->set_features(columns.features);
  auto assumption = assumption_of(*reader, columns.targets, columns.others);
  return {std::move(reader), std::move(assumption), nullptr, {}};
}

// Training called columns by their index, as where a file has no header.
bool is_unnamed(const saved_model& model) {
  return !model.has_header && !has_names(model.column_names()) && !has_names(model.target_names);
}

// Without a header columns are called by their index. A model that left some columns out has an index beyond
// those of a file of its features and targets alone. As many columns may be features and targets, or features and
// left-out columns without the targets: the count does not say which.
bool left_some_out(const saved_model& model, const row_reader& reader, const data_arguments& data,
                   target_wish wish) {
  const auto inputs = input_count(model), width = inputs + model.target_names.size();
  auto columns = columns_called(model.column_names(), reader);
  if (reader.has_header() || !is_unnamed(model) || columns.size() != inputs)
    return false;
  const bool is_ordered = std::ranges::max(columns) < inputs;
  const auto targets = columns_called(model.target_names, reader);
  std::ranges::copy(targets, std::back_inserter(columns));
  if (reader.column_count() < width || targets.size() == width - inputs || !data.target.empty())
    return std::ranges::max(columns) >= width;
  if (reader.column_count() == width && (!is_ordered || wish == target_wish::needed))
    throw failure(
      failure_code::bad_data,
      "the file has no header, and " + plural(width, "column") +
        ": the model's features and its target, or features and what training left out?",
      reader.path(),
      "name the target's column if there is one (--target last), or give the file the "
      "features alone, or all columns of the file that the model was trained on");
  return true;
}

model_rows open_by_columns(const saved_model& model, std::unique_ptr<row_reader> reader,
                           const data_arguments& data, target_wish wish) {
  if ((reader->has_header() && (model.has_header || has_names(model.column_names()))) ||
      left_some_out(model, *reader, data, wish))
    return open_by_names(model, std::move(reader), data, wish);
  const auto features = input_count(model);
  const bool with_targets = reader->column_count() == features + model.target_names.size();
  if (!with_targets && (reader->column_count() != features || !data.target.empty()))
    refuse_count(model, *reader);
  if (!with_targets && wish == target_wish::needed)
    refuse_without_target(data.file, "the file has as many columns as the model has features");
  std::vector<size_t> targets;
  if (with_targets)
    targets = target_columns(model, *reader, data.target);
  reader->set_targets(targets);
  auto assumption = assumption_of(*reader, targets);
  if (reader->has_header() != has_names(model.column_names()))
    assumption += std::string{", features by position: the "} +
                  (reader->has_header() ? "model" : "file") + " has no names of columns";
  return {std::move(reader), std::move(assumption), nullptr, {}};
}

// A row of libsvm names the features it has, so their number is the model's; its label is there
// always.
model_rows open_libsvm_rows(const saved_model& model, const data_arguments& data) {
  const bool sparse = model.network->chain().reads_sparse();
  const auto features = model.network->feature_count();
  libsvm_options options;
  options.index_base = data.index_base.value_or(model.index_base);
  options.hash_bits = model.hash_bits;
  options.form = sparse ? row_form::sparse : row_form::dense;
  auto reader = std::make_unique<libsvm_reader>(data.file, features, options);
  if (model.target_names.size() != 1)
    refuse_count(model, *reader);
  auto assumption = sparse ? data.file + ": sparse rows of " + plural(features, "feature")
                           : assumption_of(*reader, {features});
  return {std::move(reader), std::move(assumption), nullptr, {}};
}

model_rows open_text(const saved_model& model, const data_arguments& data, target_wish wish) {
  if (!model.reads_text)
    throw failure(failure_code::bad_data, "the model was not trained on a text", data.file,
                  "give it rows with the features that 'troupe inspect " + model.path + "' lists");
  const auto window = model.network->feature_count();
  const auto targets = wish == target_wish::needed ? text_targets::next : text_targets::none;
  auto reader = std::make_unique<text_reader>(data.file, window, model.classes, targets);
  auto* const text = reader.get();
  model_rows result;
  result.reader = std::move(reader);
  result.assumption =
    data.file + ": a text, a row of " + plural(window, "character") + " from each character on";
  result.remarks = [text] {
    const auto remark = text->unknown_remark();
    return remark.empty() ? std::vector<std::string>{} : std::vector{text->path() + ": " + remark};
  };
  return result;
}

model_rows open_array_rows(const saved_model& model, const data_arguments& data, target_wish wish) {
  auto reader = open_array(model, data);
  const auto labels = wish == target_wish::needed ? labels_for(model, *reader, data) : "";
  if (labels.empty())
    return open_by_columns(model, std::move(reader), data, wish);
  if (reader->column_count() != model.network->feature_count())
    refuse_count(model, *reader);
  reader->set_labels(labels, model.target_names.size());
  auto assumption = assumption_of(*reader, {});
  return {std::move(reader), std::move(assumption), nullptr, {}};
}

// Rows without a value that training left out are judged without them too, but each row has its prediction.
std::shared_ptr<cell_coder> coder_of(const saved_model& model, target_wish wish) {
  if (model.columns.empty())
    return nullptr;
  auto plan = model.columns;
  if (plan.missing == missing_rule::drop && wish == target_wish::ignored)
    plan.missing = missing_rule::error;
  return std::make_shared<cell_coder>(std::move(plan));
}

// The header of the training file may have had numbers for names, and a model without names cannot read rows of texts.
csv_header header_for(const saved_model& model, csv_header asked) {
  if (asked != csv_header::automatic)
    return asked;
  if (model.has_header && !is_header(asked, model.column_names()))
    return csv_header::yes;
  return model.columns.empty() || !is_unnamed(model) ? asked : csv_header::no;
}

model_rows open_csv(const saved_model& model, csv_header asked, const data_arguments& data,
                    target_wish wish) {
  const auto header = header_for(model, asked);
  auto reader =
    std::make_unique<csv_reader>(data.file, header, data.dialect.value_or(model.dialect));
  auto* const csv = reader.get();
  if (wish == target_wish::ignored)
    csv->ignore_targets();
  auto result = open_by_columns(model, std::move(reader), data, wish);
  if (const auto coder = coder_of(model, wish)) {
    csv->code_cells(coder);
    result.plan = &model.columns;
    result.remarks = [csv, coder] {
      std::vector<std::string> remarks;
      for (auto& remark : {csv->dropped_remark(), coder->unseen_remark()})
        if (!remark.empty())
          remarks.push_back(csv->path() + ": " + remark);
      return remarks;
    };
  }
  return result;
}

} // namespace

model_rows open_rows(const saved_model& model, const data_arguments& given, target_wish wish) {
  auto data = given;
  if (data.file == "-")
    data.file = "/dev/stdin";
  const auto header = header_option(data.header);
  const auto format = format_for(model, data);
  require_use(data, format);
  if (!data.target.empty() && model.target_names.size() != 1)
    throw failure(failure_code::usage,
                  "--target names one column, the model has " +
                    plural(model.target_names.size(), "target"),
                  {}, "leave it out: the model's names count, else the last columns");
  if (!model.columns.empty() && format != file_format::csv)
    throw failure(
      failure_code::bad_data,
      "the model makes its features of the cells of a CSV file: of categories, dates or the like, "
      "or where there is no value",
      data.file, "give it a CSV file with columns as those that it was trained on");
  switch (format) {
  case file_format::csv:
    return open_csv(model, header, data, wish);
  case file_format::libsvm:
    return open_libsvm_rows(model, data);
  case file_format::text:
    return open_text(model, data, wish);
  case file_format::rows:
    return open_by_columns(model, std::make_unique<rows_reader>(data.file), data, wish);
  default:
    return open_array_rows(model, data, wish);
  }
}

namespace {

constexpr size_t classes_shown_max = 8;

void refuse_option(const std::string& option, file_format format, const std::string& why) {
  throw failure(failure_code::usage,
                std::string{name_of(format)} + " files have no use for " + option + ": " + why,
                option, "leave it out");
}

} // namespace

file_format format_option(const data_arguments& data) {
  const auto format = from_name<file_format>(data.format);
  if (!format)
    throw failure(failure_code::usage, "there is no format " + shown_text(data.format), "--format",
                  "the formats are " + all_names<file_format>());
  return *format == file_format::by_name ? format_of(data.file) : *format;
}

void require_use(const data_arguments& data, file_format format) {
  const bool is_array = format == file_format::idx || format == file_format::npy;
  if (!data.labels_file.empty() && !is_array)
    refuse_option("--labels-file", format, "they hold their targets themselves");
  if (!data.target.empty() && format == file_format::libsvm)
    refuse_option("--target", format, "their rows begin with the target");
  if (!data.target.empty() && format == file_format::text)
    refuse_option("--target", format, "it is the character that follows a row");
  if (!data.target.empty() && !data.labels_file.empty())
    throw failure(failure_code::usage, "--target and --labels-file both say what the targets are",
                  "--target", "leave one out");
  if (data.index_base.value_or(1) > 1)
    throw failure(failure_code::usage,
                  "the index of the first feature is 0 or 1, not " +
                    std::to_string(*data.index_base),
                  "--index-base", "a libsvm file counts its features from 1 unless made otherwise");
}

bool model_rows::next(table_chunk& out, size_t rows_max) {
  const bool is_there = reader->next(out, rows_max);
  if (is_there && plan) {
    out.features = expand(*plan, out.features);
    fill_gaps(*plan, out.features);
  }
  return is_there;
}

void model_rows::warn() const {
  if (remarks)
    for (const auto& remark : remarks())
      print_message("troupe: warning: " + remark + '\n');
}

uint64_t unfit_rows(std::span<const float> predictions, size_t columns) {
  uint64_t count = 0;
  for (; !predictions.empty(); predictions = predictions.subspan(columns))
    count +=
      !std::ranges::all_of(predictions.first(columns), [](float x) { return std::isfinite(x); });
  return count;
}

void warn_of_unfit(uint64_t count, const saved_model& model) {
  if (count > 0)
    print_message("troupe: warning: predictions of " + std::to_string(count) +
                  (count == 1 ? " row" : " rows") +
                  " are no finite numbers, as scores do not fit float32: look at the features" +
                  (model.is_classification() ? "; such a class is not to be believed" : "") + '\n');
}

std::vector<int32_t> labels_of(const table_chunk& rows, const class_finder& classes,
                               const saved_model& model, const row_reader& reader) {
  std::vector<int32_t> result;
  for (size_t i = 0; i < rows.row_count; ++i) {
    const auto& cell = rows.target_cells[i];
    const auto label = classes.find(cell);
    if (!label) {
      std::string known;
      for (size_t k = 0; k < std::min(model.classes.size(), classes_shown_max); ++k)
        known += (k ? ", " : "") + shown_text(model.classes[k]);
      reader.fail_at_target(rows, i, "the model knows no class " + shown_text(cell),
                            "its classes are " + known +
                              (model.classes.size() > classes_shown_max ? ", ..." : ""));
    }
    result.push_back(static_cast<int32_t>(*label));
  }
  return result;
}

std::vector<float> targets_of(const table_chunk& rows, const row_reader& reader,
                              const loss_options& loss) {
  std::vector<float> result;
  for (size_t i = 0; i < rows.target_cells.size(); ++i) {
    const auto target = static_cast<float>(rows.target_numbers[i]);
    if (!std::isfinite(target))
      reader.fail_at_target(
        rows, i, "the target " + shown_text(rows.target_cells[i]) + " is not a finite number",
        "the model predicts numbers: is it the right column?");
    const auto require = [&](auto kind, const char* what) {
      if (!accepts_target(kind, target))
        reader.fail_at_target(
          rows, i,
          std::string{name_of(kind)} + what + " needs targets " + std::string{target_demand(kind)} +
            ", not " + shown_text(rows.target_cells[i]),
          "the model was trained on such targets alone: is it the right column?");
    };
    require(loss.kind, ", the model's loss,");
    require(loss.scale.kind, ", the model's target scale,");
    result.push_back(target);
  }
  return result;
}

} // namespace troupe
