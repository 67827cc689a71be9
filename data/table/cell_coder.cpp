#include "data/table/cell_coder.hpp"

#include "data/text/number_text.hpp"
#include "data/text/shown_text.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

namespace troupe {

namespace {

/// Above 2^53 neighbouring whole numbers share a double.
constexpr double exact_whole_max = 9007199254740992.0;

} // namespace

class_key key_of_text(std::string_view text) {
  return {0, text};
}

class_key key_of_number(std::string_view text, double value) {
  return {value, std::fabs(value) > exact_whole_max ? text : std::string_view()};
}

std::vector<std::string> joined_classes(std::span<const std::vector<std::string>> lists) {
  double ignored = 0;
  const bool are_numbers = std::ranges::all_of(lists, [&](const auto& list) {
    return std::ranges::all_of(
      list, [&](const auto& text) { return read_number(text, ignored) == number_status::number; });
  });
  std::map<class_key, const std::string*> found;
  for (const auto& list : lists)
    for (const auto& text : list) {
      double value = 0;
      if (are_numbers)
        read_number(text, value);
      found.emplace(are_numbers ? key_of_number(text, value) : key_of_text(text), &text);
    }
  std::vector<std::string> result;
  for (const auto& [key, text] : found)
    result.push_back(*text);
  return result;
}

class_finder::class_finder(const std::vector<std::string>& classes) {
  for (size_t i = 0; i < classes.size(); ++i) {
    by_text_.emplace(classes[i], i);
    double value = 0;
    if (read_number(classes[i], value) == number_status::number)
      by_value_.emplace(value, i);
  }
  if (by_value_.size() != classes.size()) // text among them, or too large for a double to tell
    by_value_.clear();
}

std::optional<size_t> class_finder::find(std::string_view text) const {
  if (const auto found = by_text_.find(text); found != by_text_.end())
    return found->second;
  double value = 0;
  if (by_value_.empty() || read_number(text, value) != number_status::number)
    return std::nullopt;
  const auto found = by_value_.find(value);
  return found == by_value_.end() ? std::nullopt : std::optional{found->second};
}

namespace {

constexpr float gap = std::numeric_limits<float>::quiet_NaN();
constexpr size_t unseen_shown_max = 5;
constexpr size_t unseen_bytes_max = 100;

bool read_plain(const plan_column& column, std::string_view cell, float& out) {
  switch (column.kind) {
  case column_kind::boolean:
    return read_boolean(cell, out);
  case column_kind::date:
    return read_date(cell, column.order, out);
  case column_kind::datetime:
    return read_datetime(cell, column.order, out);
  default:
    return read_number(cell, out) == number_status::number;
  }
}

/// Sorts by value if all are numbers, and texts of one value, such as the codes 02116 and 2116, by their bytes.
void sort_values(std::vector<std::string_view>& texts) {
  double ignored = 0;
  const bool are_numbers = std::ranges::all_of(
    texts, [&](auto text) { return read_number(text, ignored) == number_status::number; });
  std::ranges::sort(texts, {}, [=](std::string_view text) {
    double value = 0;
    if (are_numbers)
      read_number(text, value);
    return class_key{value, text};
  });
}

} // namespace

std::vector<std::string> joined_categories(std::span<const std::vector<std::string>> lists) {
  std::set<std::string_view> found;
  for (const auto& list : lists)
    found.insert(list.begin(), list.end());
  std::vector<std::string_view> texts(found.begin(), found.end());
  sort_values(texts);
  return {texts.begin(), texts.end()};
}

cell_coder::cell_coder(const column_options& choice, std::vector<plan_column> columns,
                       std::optional<plan_column> target)
  : learns_(true),
    categories_left_(choice.categories_max),
    marks_numbers_(choice.missing_indicator),
    codes_(columns.size()) {
  plan_.columns = std::move(columns);
  plan_.target = std::move(target);
  units_.resize(plan_.columns.size() + 1);
  plan_.missing = choice.missing;
  plan_.missing_cells = choice.missing_cells;
  find_marks();
}

cell_coder::cell_coder(column_plan plan) : plan_(std::move(plan)), learns_(false) {
  for (const auto& x : plan_.columns)
    finders_.emplace_back(x.categories);
  for (const auto& x : plan_.columns)
    units_.push_back({x.unit, x.unit.empty()});
  const auto& unit = plan_.target ? plan_.target->unit : std::string{};
  units_.push_back({unit, unit.empty()});
  unseen_.resize(plan_.columns.size());
  find_marks();
}

void cell_coder::find_marks() {
  double value = 0;
  for (const auto& text : plan_.missing_cells)
    if (read_number(text, value) == number_status::number)
      marks_.push_back(value);
}

bool cell_coder::is_missing(std::string_view cell) const {
  return cell.empty() || std::ranges::find(plan_.missing_cells, cell) != plan_.missing_cells.end();
}

bool cell_coder::is_missing_number(std::string_view cell) const {
  double value = 0;
  return is_missing(cell) ||
         (!marks_.empty() && read_number(cell, value) == number_status::number &&
          std::ranges::find(marks_, value) != marks_.end());
}

cell_status cell_coder::code(size_t slot, std::string_view cell, float& out) {
  const auto kind = plan_.columns[slot].kind;
  const bool is_number = kind == column_kind::number || kind == column_kind::amount;
  if (is_number ? is_missing_number(cell) : is_missing(cell)) {
    out = gap;
    if (!learns_ && kind == column_kind::category && !plan_.columns[slot].marks_missing)
      count_unseen(slot, cell);
    return cell_status::missing;
  }
  if (kind == column_kind::category)
    return code_category(slot, cell, out);
  if (kind != column_kind::amount)
    return read_plain(plan_.columns[slot], cell, out) ? cell_status::coded
                                                      : cell_status::unreadable;
  double value = 0;
  const auto status = code_amount(slot, cell, value);
  const auto rounded = static_cast<float>(value);
  if (status != cell_status::coded || !std::isfinite(rounded))
    return status == cell_status::coded ? cell_status::unreadable : status;
  out = rounded;
  return status;
}

cell_status cell_coder::code_target(std::string_view cell, double& out) {
  return code_amount(plan_.columns.size(), cell, out);
}

cell_status cell_coder::code_amount(size_t slot, std::string_view cell, double& out) {
  const auto amount = read_amount(cell);
  if (!amount)
    return cell_status::unreadable;
  if (!units_[slot].takes(amount->unit))
    return cell_status::other_unit;
  out = amount->value;
  return cell_status::coded;
}

cell_status cell_coder::code_category(size_t slot, std::string_view cell, float& out) {
  if (learns_) {
    const auto found = codes_[slot].find(cell);
    if (found == codes_[slot].end())
      return code_new_category(slot, cell, out);
    out = static_cast<float>(found->second);
    return cell_status::coded;
  }
  if (const auto found = finders_[slot].find(cell)) {
    out = static_cast<float>(*found);
    return cell_status::coded;
  }
  count_unseen(slot, cell);
  out = unseen_category;
  return cell_status::coded;
}

void cell_coder::count_unseen(size_t slot, std::string_view cell) {
  auto& [count, texts] = unseen_[slot];
  ++count;
  if (texts.size() == unseen_shown_max)
    return;
  auto shown = shown_text(cell.substr(0, unseen_bytes_max));
  if (std::ranges::find(texts, shown) == texts.end())
    texts.push_back(std::move(shown));
}

cell_status cell_coder::code_new_category(size_t slot, std::string_view cell, float& out) {
  if (!is_utf8(cell))
    return cell_status::not_utf8;
  if (categories_left_ == 0)
    return cell_status::too_many;
  --categories_left_;
  auto& codes = codes_[slot];
  out = static_cast<float>(codes.size());
  codes.emplace(cell, static_cast<uint32_t>(codes.size()));
  return cell_status::coded;
}

void cell_coder::sort_categories(size_t slot, std::span<float> cells) {
  const auto width = plan_.columns.size();
  std::vector<bool> is_used(codes_[slot].size());
  for (size_t i = slot; i < cells.size(); i += width)
    if (!std::isnan(cells[i]))
      is_used[static_cast<size_t>(cells[i])] = true;
  std::vector<std::string_view> texts; // rows that were left out may have had others
  for (const auto& [text, code] : codes_[slot])
    if (is_used[code])
      texts.push_back(text);
  sort_values(texts);
  plan_.columns[slot].categories.assign(texts.begin(), texts.end());
  std::vector<float> number(is_used.size());
  for (size_t i = 0; i < texts.size(); ++i)
    number[codes_[slot].find(texts[i])->second] = static_cast<float>(i);
  for (size_t i = slot; i < cells.size(); i += width)
    if (!std::isnan(cells[i]))
      cells[i] = number[static_cast<size_t>(cells[i])];
}

column_plan cell_coder::learn(std::span<float> cells) {
  const auto width = plan_.columns.size();
  if (plan_.target)
    plan_.target->unit = units_.back().unit;
  for (size_t slot = 0; slot < width; ++slot) {
    auto& column = plan_.columns[slot];
    column.unit = units_[slot].unit;
    const bool is_category = column.kind == column_kind::category;
    if (is_category)
      sort_categories(slot, cells);
    for (size_t i = slot; i < cells.size() && (is_category || marks_numbers_); i += width)
      column.marks_missing = column.marks_missing || std::isnan(cells[i]);
  }
  return plan_;
}

std::string cell_coder::unseen_remark() const {
  uint64_t count = 0;
  std::string where;
  for (size_t slot = 0; slot < unseen_.size(); ++slot) {
    const auto& unseen = unseen_[slot];
    if (unseen.count == 0)
      continue;
    count += unseen.count;
    where += (where.empty() ? "" : "; ") + shown_text(plan_.columns[slot].name) + " has ";
    for (size_t i = 0; i < unseen.texts.size(); ++i)
      where += (i == 0 ? "" : ", ") + unseen.texts[i];
    if (unseen.texts.size() == unseen_shown_max)
      where += ", ..";
  }
  if (count == 0)
    return "";
  return std::to_string(count) + (count == 1 ? " cell is a category" : " cells are categories") +
         " that training has not seen and counts as none of those it has: " + where;
}

} // namespace troupe
