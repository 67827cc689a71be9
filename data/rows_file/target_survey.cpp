#include "troupe/data/rows_file/target_survey.hpp"

#include "troupe/data/model_file/saved_model.hpp"
#include "troupe/data/text/failure.hpp"
#include "troupe/data/text/shown_text.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <utility>

namespace troupe {

target_survey::target_survey(std::string source, std::string target_name, target_use use)
  : source_(std::move(source)),
    target_name_(std::move(target_name)),
    use_(use),
    minimum_(std::numeric_limits<double>::infinity()),
    maximum_(-std::numeric_limits<double>::infinity()) {}

// Numbers of which there are too many different ones are none of a class.
bool target_survey::keeps_cells() const {
  return use_ == target_use::labels || !all_numbers_ ||
         (use_ == target_use::by_content && all_whole_ &&
          cells_.size() <= 2 * class_count_max_to_ask);
}

void target_survey::add(const table_chunk& rows) {
  for (size_t i = 0; i < rows.row_count; ++i) {
    const auto number = rows.target_numbers[i];
    ++row_count_;
    if (std::isnan(number)) {
      all_numbers_ = false;
      if (use_ == target_use::numbers || gave_up_cells_)
        throw failure(failure_code::bad_data,
                      shown_text(rows.target_cells[i]) + " in the target " +
                        shown_text(target_name_) + " is no number, as those before it are",
                      source_, "are these classes? say so: --targets classes");
    } else {
      // As it will be stored: a float32.
      minimum_ = std::min<double>(minimum_, static_cast<float>(number));
      maximum_ = std::max<double>(maximum_, static_cast<float>(number));
      all_whole_ = all_whole_ && std::trunc(number) == number;
    }
    if (keeps_cells()) {
      if (rows_of_[rows.target_cells[i]]++ == 0)
        cells_.push_back(rows.target_cells[i]);
    } else if (!std::exchange(gave_up_cells_, true)) {
      rows_of_.clear();
      cells_.clear();
    }
  }
}

void target_survey::tell(rows_header& out) const {
  table seen;
  if (!gave_up_cells_) {
    // Each cell once, or twice where values repeat: that is what classes are told from numbers by.
    const auto times = row_count_ >= 2 * cells_.size() ? 2 : 1;
    for (int time = 0; time < times; ++time)
      for (const auto& cell : cells_)
        seen.target_cells.push_back(cell);
  }
  seen.row_count = seen.target_cells.size();
  seen.target_name = target_name_;
  seen.source = source_;
  if (all_numbers_)
    for (const auto& cell : seen.target_cells)
      seen.target_numbers.push_back(std::strtod(cell.c_str(), nullptr));
  const auto told = gave_up_cells_ ? dataset{} : to_dataset(std::move(seen), use_);
  if (!told.is_classification()) {
    if (!std::isfinite(minimum_) || !std::isfinite(maximum_))
      throw failure(failure_code::bad_data,
                    "a value of the target " + shown_text(target_name_) +
                      " does not fit a floating-point number",
                    source_, "numbers go up to 3.4e38: use another unit");
    out.target_minimum = minimum_;
    out.target_maximum = maximum_;
    return;
  }
  out.classes = told.classes;
  out.class_rows.assign(told.classes.size(), 0);
  const class_finder classes{out.classes};
  for (const auto& [cell, rows] : rows_of_)
    out.class_rows[classes.find(cell).value()] += rows;
}

} // namespace troupe
