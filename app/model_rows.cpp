#include "troupe/app/model_rows.hpp"

#include "troupe/data/failure.hpp"
#include "troupe/data/number_text.hpp"
#include "troupe/data/shown_text.hpp"

#include <algorithm>
#include <cmath>

namespace troupe {

namespace {

constexpr size_t names_shown_max = 8;

// Without a header columns are called by their index: those are no names to compare.
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

std::string differences(const std::vector<std::string>& wanted,
                        const std::vector<std::string>& found) {
  const auto missing = difference("missing", wanted, found);
  const auto surplus = difference("not the model's:", found, wanted);
  if (!missing.empty() || !surplus.empty())
    return missing + (missing.empty() || surplus.empty() ? "" : "; ") + surplus;
  for (size_t i = 0; i < std::min(wanted.size(), found.size()); ++i)
    if (wanted[i] != found[i])
      return "another order: feature " + std::to_string(i) + " is " + shown_text(found[i]) +
             ", the model's is " + shown_text(wanted[i]);
  return {};
}

std::string plural(size_t count, const std::string& what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

[[noreturn]] void refuse_count(const saved_model& model, const csv_reader& reader) {
  auto reason = "the file has " + plural(reader.column_count(), "column") + "; the model takes " +
                plural(model.network->feature_count(), "feature") + ", and " +
                plural(model.target_names.size(), "target") + " may follow";
  if (reader.has_header() && has_names(model.feature_names)) {
    auto known = model.feature_names;
    known.insert(known.end(), model.target_names.begin(), model.target_names.end());
    if (const auto text = differences(known, reader.column_names()); !text.empty())
      reason += " (" + text + ")";
  }
  throw failure(failure_code::bad_data, reason, reader.path(),
                "'troupe inspect " + model.path + "' lists the model's features");
}

void require_same_names(const saved_model& model, const csv_reader& reader) {
  if (!reader.has_header() || !has_names(model.feature_names))
    return;
  if (const auto text = differences(model.feature_names, reader.feature_names()); !text.empty())
    throw failure(failure_code::bad_data, "the columns are not the model's features: " + text,
                  reader.path() + ":1",
                  "give the file the model's columns, in its order, or leave the header out");
}

// The targets' columns: as asked, else by the model's names, else the last ones.
std::vector<size_t> target_columns(const saved_model& model, const csv_reader& reader,
                                   const std::string& target) {
  if (!target.empty())
    return {reader.find_column(target)};
  std::vector<size_t> result;
  for (const auto& name : model.target_names)
    if (reader.has_header() && contains(reader.column_names(), name))
      result.push_back(reader.find_column(name));
  if (result.size() == model.target_names.size())
    return result;
  result.clear();
  for (size_t t = model.target_names.size(); t > 0; --t)
    result.push_back(reader.column_count() - t);
  return result;
}

std::string assumption_of(const csv_reader& reader, const std::vector<size_t>& targets) {
  auto result = reader.path() + ": " + plural(reader.column_count(), "column") + ", ";
  if (targets.empty())
    return result + "all taken for features, none for a target";
  for (size_t i = 0; i < targets.size(); ++i)
    result += (i == 0 ? "" : ", ") + shown_text(reader.column_names()[targets[i]]);
  return result + " taken for the target" + (targets.size() == 1 ? "" : "s");
}

} // namespace

model_rows open_rows(const saved_model& model, const model_rows_options& options) {
  csv_reader reader{options.file, options.header};
  const auto features = model.network->feature_count();
  const auto target_count = model.target_names.size();
  if (!options.target.empty() && target_count != 1)
    throw failure(failure_code::usage,
                  "--target names one column, the model has " + plural(target_count, "target"), {},
                  "leave it out: the model's names count, else the last columns");
  const bool with_targets = reader.column_count() == features + target_count;
  if (!with_targets && (reader.column_count() != features || !options.target.empty()))
    refuse_count(model, reader);
  std::vector<size_t> targets;
  if (with_targets)
    targets = target_columns(model, reader, options.target);
  reader.set_targets(targets);
  require_same_names(model, reader);
  auto assumption = assumption_of(reader, targets);
  return {std::move(reader), with_targets, std::move(assumption)};
}

std::vector<int32_t> labels_of(const table_chunk& rows, const class_finder& classes,
                               const saved_model& model, const std::string& path) {
  std::vector<int32_t> result;
  for (size_t i = 0; i < rows.row_count; ++i) {
    const auto& cell = rows.target_cells[i];
    const auto label = classes.find(cell);
    if (!label) {
      std::string known;
      for (size_t k = 0; k < std::min(model.classes.size(), names_shown_max); ++k)
        known += (k ? ", " : "") + shown_text(model.classes[k]);
      throw failure(failure_code::bad_data, "the model knows no class " + shown_text(cell),
                    path + ":" + std::to_string(rows.lines[i]),
                    "its classes are " + known +
                      (model.classes.size() > names_shown_max ? ", ..." : ""));
    }
    result.push_back(static_cast<int32_t>(*label));
  }
  return result;
}

std::vector<float> targets_of(const table_chunk& rows, const saved_model& model,
                              const std::string& path) {
  std::vector<float> result;
  for (size_t i = 0; i < rows.target_cells.size(); ++i) {
    double value = 0;
    const auto status = read_number(rows.target_cells[i], value);
    const auto target = static_cast<float>(value);
    if (status != number_status::number || !std::isfinite(target))
      throw failure(failure_code::bad_data,
                    "the target " + shown_text(rows.target_cells[i]) + " is not a finite number",
                    path + ":" + std::to_string(rows.lines[i / model.target_names.size()]),
                    "the model predicts numbers: is it the right column?");
    result.push_back(target);
  }
  return result;
}

} // namespace troupe
