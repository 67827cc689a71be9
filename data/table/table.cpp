#include "data/table/table.hpp"

#include "data/table/cell_coder.hpp"
#include "data/text/failure.hpp"
#include "data/text/shown_text.hpp"
#include "models/base/rounding.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

namespace troupe {

namespace {

bool has_numbers(const table& source) {
  return source.row_count > 0 && source.target_numbers.size() == source.row_count;
}

class_key key_of(const table& source, size_t row) {
  const auto& text = source.target_cells[row];
  return has_numbers(source) ? key_of_number(text, source.target_numbers[row]) : key_of_text(text);
}

[[noreturn]] void ask_for_use(const table& source, size_t value_count) {
  throw failure(failure_code::bad_job,
                "the target " + shown_text(source.target_name) + " holds whole numbers, " +
                  std::to_string(value_count) + " different ones: amounts to learn, or classes?",
                "model.loss",
                "say so: model.loss = \"squared\" for amounts, \"categorical-cross-entropy\" for "
                "classes");
}

bool looks_like_labels(const table& source) {
  if (!has_numbers(source))
    return true;
  std::set<double> distinct;
  for (auto value : source.target_numbers) {
    distinct.insert(value);
    if (std::trunc(value) != value || distinct.size() > class_count_max_to_ask)
      return false;
  }
  const bool repeats = source.row_count >= 2 * distinct.size();
  if (repeats && distinct.size() > class_count_max_by_content)
    ask_for_use(source, distinct.size());
  return repeats;
}

/// Fewer cannot be told from a small table.
constexpr size_t rows_to_judge_by = 10;

/// Of rows to train on.
void judge_classes(table& source, const std::vector<std::string>& classes) {
  const auto target = "the target " + shown_text(source.target_name) + " has ";
  if (classes.size() < 2)
    throw failure(failure_code::bad_data,
                  target + "fewer than two classes" +
                    (classes.empty() ? "" : ": only " + shown_text(classes[0])),
                  source.source, "is it the right column? a target's name or index can be given");
  if (source.row_count >= rows_to_judge_by && 2 * classes.size() > source.row_count)
    source.remarks.push_back(source.source + ": " + target + std::to_string(classes.size()) +
                             " classes in " + std::to_string(source.row_count) +
                             " rows: names of rows cannot be learned; is it the right column?");
}

/// Fills labels and classes. A class is called what its first cell calls it.
void make_labels(table& source, target_use use, dataset& out) {
  struct found_class {
    size_t first_row;
    int32_t number = 0;
  };
  std::map<class_key, found_class> found;
  for (size_t row = 0; row < source.row_count; ++row)
    found.try_emplace(key_of(source, row), found_class{row});
  for (auto& [key, entry] : found) {
    entry.number = static_cast<int32_t>(out.classes.size());
    out.classes.push_back(source.target_cells[entry.first_row]);
  }
  if (use != target_use::known_labels)
    judge_classes(source, out.classes);
  out.labels.reserve(source.row_count);
  for (size_t row = 0; row < source.row_count; ++row)
    out.labels.push_back(found.at(key_of(source, row)).number);
}

/// The reader has said what they are.
void keep_labels(const table& source, target_use use) {
  if (use == target_use::numbers)
    throw failure(failure_code::bad_data,
                  "the target " + shown_text(source.target_name) + " is a class, not a number",
                  source.source, "use a loss for classes");
}

[[noreturn]] void refuse_text(const table& source) {
  auto where = source.source;
  if (source.first_text_line > 0)
    where += ":" + std::to_string(source.first_text_line);
  throw failure(failure_code::bad_data,
                shown_text(source.first_text_cell) + " in the target " +
                  shown_text(source.target_name) + " is not a number",
                where,
                read_amount(source.first_text_cell)
                  ? "amounts are read by data.amount = [\"" + source.target_name + "\"]"
                  : "use a loss for classes, or another target");
}

void make_targets(const table& source, dataset& out) {
  if (!has_numbers(source))
    refuse_text(source);
  out.target_count = 1;
  out.targets.reserve(source.row_count);
  for (size_t row = 0; row < source.row_count; ++row) {
    auto value = static_cast<float>(source.target_numbers[row]);
    if (!std::isfinite(value))
      throw failure(failure_code::bad_data,
                    shown_text(source.target_cells[row]) + " in the target " +
                      shown_text(source.target_name) + " (row " + std::to_string(row + 1) +
                      " of the data) does not fit a floating-point number",
                    source.source, "numbers go up to 3.4e38: use another unit");
    out.targets.push_back(value);
  }
}

} // namespace

dataset to_dataset(table&& source, target_use use) {
  const default_rounding rounding;
  dataset& result = source;
  if (source.is_classification())
    keep_labels(source, use);
  else if (use == target_use::labels || use == target_use::known_labels ||
           (use == target_use::by_content && looks_like_labels(source)))
    make_labels(source, use, result);
  else
    make_targets(source, result);
  result.target_names = {std::move(source.target_name)};
  return std::move(result);
}

} // namespace troupe
