#include "data/table/cell_text.hpp"

#include "data/text/number_text.hpp"
#include "data/text/shown_text.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <utility>

namespace troupe {

namespace {

/// Takes up to `digits_max` digits off the front. Returns how many there were; 0: none.
size_t take_number(std::string_view& text, size_t digits_max, int& out) {
  const auto most = text.substr(0, digits_max);
  const auto [end, error] = std::from_chars(most.data(), most.data() + most.size(), out);
  if (error != std::errc{} || text.front() == '-')
    return 0;
  const auto count = static_cast<size_t>(end - most.data());
  text.remove_prefix(count);
  return count;
}

bool take(std::string_view& text, std::string_view front) {
  if (!text.starts_with(front))
    return false;
  text.remove_prefix(front.size());
  return true;
}

/// Takes a date off the front: three numbers with the same mark between them.
std::optional<std::chrono::sys_days> take_date(std::string_view& text, date_form order) {
  using namespace std::chrono;
  int first = 0, second = 0, third = 0;
  const auto digits = take_number(text, 4, first);
  const bool by_year = digits > 2;
  const auto mark = text.substr(0, 1);
  if (digits == 0 || (mark != "-" && mark != "/" && mark != ".") || !take(text, mark) ||
      take_number(text, 2, second) == 0 || !take(text, mark) ||
      take_number(text, by_year ? 2 : 4, third) == 0 ||
      (!text.empty() && text.front() != 'T' && text.front() != ' ') ||
      (!by_year && order == date_form::year_first))
    return std::nullopt;
  if (by_year)
    std::swap(first, third); // day, month, year
  else if (order == date_form::month_first)
    std::swap(first, second);
  const year_month_day date{year{third}, month{static_cast<unsigned>(second)},
                            day{static_cast<unsigned>(first)}};
  return third >= 1000 && date.ok() ? std::optional{sys_days{date}} : std::nullopt;
}

int days_of(std::chrono::sys_days date) {
  using namespace std::chrono;
  return static_cast<int>((date - sys_days{year{2000} / January / 1}).count());
}

/// The whole of a time, or nothing: quarters of an hour since midnight.
std::optional<int> quarters_of(std::string_view text) {
  const auto skip = [&](std::string_view letters) {
    text.remove_prefix(std::min(text.find_first_not_of(letters), text.size()));
  };
  if (text.empty())
    return 0;
  if (!take(text, "T"))
    skip(" ");
  int hour = 0, minute = 0;
  if (take_number(text, 2, hour) == 0 || !take(text, ":") || take_number(text, 2, minute) != 2 ||
      hour > 23 || minute > 59)
    return std::nullopt;
  skip("0123456789:.,"); // seconds
  skip(" ");
  const bool is_late = take(text, "PM") || take(text, "pm");
  if (is_late || take(text, "AM") || take(text, "am")) {
    if (hour < 1 || hour > 12)
      return std::nullopt;
    hour = hour % 12 + (is_late ? 12 : 0);
    skip(" ");
  }
  const bool is_zone =
    text == "Z" || text == "UTC" || text.starts_with('+') || text.starts_with('-');
  return text.empty() || is_zone ? std::optional{hour * 4 + minute / 15} : std::nullopt;
}

} // namespace

bool read_boolean(std::string_view text, float& out) {
  constexpr std::array yes{"true", "yes", "t", "y", "1"};
  constexpr std::array no{"false", "no", "f", "n", "0"};
  if (text.size() > 5)
    return false;
  std::string lower{text};
  for (auto& letter : lower)
    letter = static_cast<char>(letter >= 'A' && letter <= 'Z' ? letter + 32 : letter);
  const bool is_yes = std::ranges::find(yes, lower) != yes.end();
  if (!is_yes && std::ranges::find(no, lower) == no.end())
    return false;
  out = is_yes ? 1 : 0;
  return true;
}

bool read_date(std::string_view text, date_form order, float& days) {
  const auto date = take_date(text, order);
  if (date)
    days = static_cast<float>(days_of(*date));
  return date.has_value();
}

bool read_datetime(std::string_view text, date_form order, float& quarters) {
  using namespace std::chrono;
  const auto date = take_date(text, order);
  if (!date || *date < sys_days{year{1600} / January / 1} ||
      *date >= sys_days{year{2400} / January / 1})
    return false;
  const auto time = quarters_of(text);
  if (time)
    quarters = static_cast<float>(days_of(*date) * static_cast<int>(quarters_of_day) + *time);
  return time.has_value();
}

bool has_short_year(std::string_view text) {
  float ignored = 0;
  std::string longer{text.substr(0, text.find(' '))};
  longer.insert(longer.find_last_of("-/.") + 1, "20");
  return read_date(longer, date_form::day_first, ignored) ||
         read_date(longer, date_form::month_first, ignored);
}

namespace {

constexpr std::array<std::string_view, 3> blanks{" ", "\u00a0", "\u202f"};
constexpr std::array<std::string_view, 6> group_marks{",", "'", "\u2019", " ", "\u00a0", "\u202f"};

/// Takes blanks off both ends. Returns whether there were any.
bool trim(std::string_view& text) {
  const auto size = text.size();
  for (const auto blank : blanks) {
    while (take(text, blank))
      ;
    while (text.ends_with(blank))
      text.remove_suffix(blank.size());
  }
  return text.size() < size;
}

/// `is_apart`: a blank stands between it and the number.
bool is_unit(std::string_view text, bool is_apart) {
  const bool is_character = !text.empty() && utf8_bytes(text) == text.size();
  const auto code = is_character ? code_point_of(text) : 0;
  const bool is_capital = std::ranges::all_of(text, [](char x) { return x >= 'A' && x <= 'Z'; });
  return code == '%' || code == '$' || (code >= 0xa2 && code <= 0xa5) ||
         (code >= 0x20a0 && code <= 0x20cf) || (is_apart && is_capital && text.size() == 3);
}

/// Digits with what may stand between thousands, and a fraction, as read_number wants them; empty: other texts.
std::string without_groups(std::string_view text) {
  const auto point = std::min(text.find('.'), text.size());
  auto whole = text.substr(0, point);
  const auto take_digits = [&] {
    const auto digits = whole.substr(0, whole.find_first_not_of("0123456789"));
    whole.remove_prefix(digits.size());
    return digits;
  };
  std::string result{take_digits()};
  const bool may_be_grouped = !result.empty() && result.size() <= 3;
  const auto mark = std::ranges::find_if(group_marks, [&](auto x) { return whole.starts_with(x); });
  while (!whole.empty()) {
    if (!may_be_grouped || mark == group_marks.end() || !take(whole, *mark))
      return {};
    const auto digits = take_digits();
    if (digits.size() != 3)
      return {};
    result += digits;
  }
  return result.append(text.substr(point));
}

} // namespace

std::optional<amount> read_amount(std::string_view text) {
  amount result;
  if (read_number(text, result.value) == number_status::number)
    return result;
  bool is_negative = text.starts_with('(') && text.ends_with(')');
  if (is_negative)
    text = text.substr(1, text.size() - 2);
  else
    is_negative = take(text, "-") || take(text, "\u2212");
  const auto begin = std::min(text.find_first_of("0123456789."), text.size());
  const auto end = std::max(text.find_last_of("0123456789") + 1, begin);
  auto front = text.substr(0, begin), back = text.substr(end);
  if (!is_negative && front.ends_with('-')) {
    is_negative = true;
    front.remove_suffix(1);
  }
  const bool is_apart = trim(front) | trim(back);
  result.unit = front.empty() ? back : front;
  if (read_number(without_groups(text.substr(begin, end - begin)), result.value) !=
        number_status::number ||
      !(front.empty() || (back.empty() && front != "%")) ||
      !(result.unit.empty() || is_unit(result.unit, is_apart)))
    return std::nullopt;
  if (is_negative)
    result.value = -result.value;
  return result;
}

bool unit_rule::takes(std::string_view next) {
  if (next.empty()) {
    has_bare = true;
    return unit != "%";
  }
  if (unit.empty() && !(next == "%" && has_bare))
    unit = next;
  return unit == next;
}

std::string with_marks_swapped(std::string_view text) {
  std::string result{text};
  for (auto& letter : result)
    letter = letter == ',' ? '.' : letter == '.' ? ',' : letter;
  return result;
}

} // namespace troupe
