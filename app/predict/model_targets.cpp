// Rows for a model as they are read, their targets and predictions, and options for them (model_rows.hpp).

#include "app/predict/model_rows.hpp"
#include "app/terminal/output.hpp"
#include "data/text/failure.hpp"
#include "data/text/shown_text.hpp"

#include <algorithm>
#include <cmath>

namespace troupe {

namespace {

constexpr size_t classes_shown_max = 8;

void refuse_option(const std::string& option, file_format format, const std::string& why) {
  throw failure(failure_code::usage,
                std::string{name_of(format)} + " files have no use for " + option + ": " + why,
                option, "leave it out");
}

} // namespace

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

std::vector<float> targets_of(const table_chunk& rows, const row_reader& reader, loss_kind loss) {
  std::vector<float> result;
  for (size_t i = 0; i < rows.target_cells.size(); ++i) {
    const auto target = static_cast<float>(rows.target_numbers[i]);
    if (!std::isfinite(target))
      reader.fail_at_target(
        rows, i, "the target " + shown_text(rows.target_cells[i]) + " is not a finite number",
        "the model predicts numbers: is it the right column?");
    if (!accepts_target(loss, target))
      reader.fail_at_target(rows, i,
                            std::string{name_of(loss)} + ", the model's loss, needs targets " +
                              std::string{target_demand(loss)} + ", not " +
                              shown_text(rows.target_cells[i]),
                            "the model was trained on such targets alone: is it the right column?");
    result.push_back(target);
  }
  return result;
}

} // namespace troupe
