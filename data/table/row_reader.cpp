#include "data/table/row_reader.hpp"

#include "data/text/failure.hpp"
#include "models/base/rounding.hpp"
#include "models/keys/closest_name.hpp"

#include <charconv>
#include <stdexcept>
#include <system_error>

namespace troupe {

void table_chunk::clear() {
  row_count = 0;
  features.clear();
  sparse.starts.clear();
  sparse.features.clear();
  sparse.values.clear();
  target_cells.clear();
  target_numbers.clear();
  kept_cells.clear();
  lines.clear();
}

batch table_chunk::rows() const {
  batch result;
  result.row_count = row_count;
  result.features = features;
  result.sparse = sparse.rows(0, row_count);
  return result;
}

bool row_reader::next(table_chunk& out, size_t rows_max) {
  const default_rounding rounding;
  return read_rows(out, rows_max);
}

void row_reader::set_columns(std::vector<std::string> names, bool has_header) {
  names_ = std::move(names);
  has_header_ = has_header;
  set_targets({});
}

size_t row_reader::find_column(const std::string& wanted) const {
  const auto count = names_.size();
  const auto named = static_cast<size_t>(std::ranges::find(names_, wanted) - names_.begin());
  auto index = count;
  const auto [end, error] = std::from_chars(wanted.data(), wanted.data() + wanted.size(), index);
  const bool is_index =
    !wanted.empty() && end == wanted.data() + wanted.size() && error != std::errc::invalid_argument;
  if (!is_index)
    index = wanted == "last" ? count - 1 : count;
  const auto column = wanted == "last" || named == count ? index : named;
  if (column >= count)
    refuse_column(wanted, is_index);
  double number = 0;
  const bool may_be_two = named < count && index < count && named != index;
  if (may_be_two || (has_header_ && is_index && named == count &&
                     read_number(names_[column], number) == number_status::number))
    doubts_.insert("the column " + shown_text(wanted) + " is taken to be the one of index " +
                   std::to_string(column) + ", called " + shown_text(names_[column]) +
                   (may_be_two ? ", and not that of index " : ": none is called ") +
                   (may_be_two ? std::to_string(column == index ? named : index) : wanted));
  return column;
}

void row_reader::refuse_column(const std::string& wanted, bool is_index) const {
  const auto closest = closest_name(wanted, names_);
  const auto count = std::to_string(names_.size()) + " columns";
  std::string some;
  for (size_t column = 0; column < std::min<size_t>(names_.size(), 8); ++column)
    some += (column ? ", " : "") + shown_text(names_[column]);
  throw failure(failure_code::bad_data, "there is no column " + shown_text(wanted), names_place_,
                !closest.empty() ? "did you mean " + shown_text(closest) + "?"
                : is_index       ? "the file has " + count + ", counted from 0"
                : has_header_    ? "the columns are " + some + (names_.size() > 8 ? ", ..." : "")
                                 : "the file has no header and " + count +
                                  ": name one by its index, counted from 0, or \"last\"");
}

void row_reader::set_targets(const std::vector<size_t>& columns) {
  target_slot_.assign(names_.size(), no_target);
  target_columns_ = columns;
  for (size_t slot = 0; slot < columns.size(); ++slot) {
    const auto column = columns[slot];
    if (column >= names_.size() || target_slot_[column] != no_target)
      throw std::invalid_argument("row reader: column " + std::to_string(column) +
                                  " cannot be a target");
    target_slot_[column] = slot;
  }
  std::vector<size_t> others;
  for (size_t column = 0; column < names_.size(); ++column)
    if (target_slot_[column] == no_target)
      others.push_back(column);
  set_features(others);
  features_are_the_rest_ = true;
}

void row_reader::set_features(const std::vector<size_t>& columns) {
  feature_slot_.assign(names_.size(), no_feature);
  feature_count_ = columns.size();
  features_are_the_rest_ = false;
  for (size_t slot = 0; slot < columns.size(); ++slot) {
    const auto column = columns[slot];
    if (column >= names_.size() || feature_slot_[column] != no_feature ||
        target_slot_[column] != no_target)
      throw std::invalid_argument("row reader: column " + std::to_string(column) +
                                  " cannot be a feature");
    feature_slot_[column] = slot;
  }
}

void row_reader::ignore(const std::vector<std::string>& columns) {
  if (columns.empty())
    return;
  std::vector<bool> is_out(names_.size());
  for (const auto& wanted : columns) {
    const auto column = find_column(wanted);
    if (target_slot_[column] != no_target)
      throw failure(failure_code::bad_data,
                    "the column " + shown_text(wanted) + " is to be ignored, and is the target too",
                    names_place_, "name the column to learn, or ignore another");
    is_out[column] = true;
  }
  std::vector<size_t> left;
  for (size_t column = 0; column < names_.size(); ++column)
    if (target_slot_[column] == no_target && !is_out[column])
      left.push_back(column);
  if (left.empty())
    throw failure(failure_code::bad_data, "all columns are ignored: no feature is left",
                  names_place_, "keep a column of numbers");
  set_features(left);
}

void row_reader::keep(const std::vector<std::string>& columns) {
  kept_slot_.assign(names_.size(), no_feature);
  for (const auto& wanted : columns)
    if (auto& slot = kept_slot_[find_column(wanted)]; slot == no_feature)
      slot = kept_count_++;
    else
      throw failure(failure_code::bad_data, "the column " + shown_text(wanted) + " is named twice",
                    names_place_, "name it once");
}

std::vector<std::string> row_reader::feature_names() const {
  std::vector<std::string> result(feature_count_);
  for (size_t column = 0; column < names_.size(); ++column)
    if (feature_slot_[column] != no_feature)
      result[feature_slot_[column]] = names_[column];
  return result;
}

void row_reader::fail_at_target(const table_chunk& rows, size_t i, const std::string& reason,
                                const std::string& hint) const {
  const auto line = rows.lines[i / target_columns_.size()];
  throw failure(failure_code::bad_data, reason, path_ + ":" + std::to_string(line), hint);
}

} // namespace troupe
