#include "data/text/number_text.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string>
#include <system_error>

namespace troupe {

namespace {

bool is_digit(char letter) {
  return letter >= '0' && letter <= '9';
}

/// Up to nine digits, most cells of most files: they fit the integer, and making it a float32
/// rounds once, to the nearest.
bool read_short_integer(std::string_view text, uint32_t& out) {
  if (text.empty() || text.size() > 9)
    return false;
  uint32_t value = 0;
  for (auto letter : text) {
    if (!is_digit(letter))
      return false;
    value = value * 10 + static_cast<uint32_t>(letter - '0');
  }
  out = value;
  return true;
}

std::string_view without_sign(std::string_view text) {
  if (!text.empty() && (text[0] == '+' || text[0] == '-'))
    text.remove_prefix(1);
  return text;
}

/// "nan", "inf" and "infinity" in any letter case, with or without a sign.
bool spells_not_finite(std::string_view text) {
  auto body = without_sign(text);
  if (body.size() > 8)
    return false;
  std::string lower(body);
  for (auto& letter : lower)
    letter = static_cast<char>(letter | 0x20);
  return lower == "nan" || lower == "inf" || lower == "infinity";
}

/// Whether a number may begin so; keeps the words std::from_chars knows out.
bool begins_like_number(std::string_view text) {
  auto body = without_sign(text);
  return !body.empty() && (is_digit(body[0]) || body[0] == '.');
}

template <class Float>
number_status read_general(std::string_view text, Float& out) {
  if (!begins_like_number(text))
    return spells_not_finite(text) ? number_status::not_finite : number_status::text;
  if (text[0] == '+') // std::from_chars takes no plus sign
    text.remove_prefix(1);
  Float value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc::invalid_argument || end != text.data() + text.size())
    return number_status::text;
  if (error == std::errc::result_out_of_range || !std::isfinite(value))
    return number_status::out_of_range;
  out = value;
  return number_status::number;
}

/// Of a number that lies out of a double's range: whether it is below it, near 0. The sign of its
/// decimal exponent tells, because both ends are far from 1.
bool is_below_range(std::string_view text) {
  const auto mark = text.find_first_of("eE");
  const auto digits = text.substr(0, mark);
  int64_t exponent = 0;
  if (mark != text.npos) {
    auto rest = text.substr(mark + 1);
    const bool is_negative = rest[0] == '-';
    if (rest[0] == '+')
      rest.remove_prefix(1);
    if (std::from_chars(rest.data(), rest.data() + rest.size(), exponent).ec != std::errc{})
      return is_negative;
  }
  const auto point = std::min(digits.find('.'), digits.size());
  const auto first = std::min(digits.find_first_of("123456789"), digits.size());
  return exponent + static_cast<int64_t>(point) - static_cast<int64_t>(first) < 0;
}

} // namespace

number_status read_number(std::string_view text, float& out) {
  uint32_t integer;
  if (read_short_integer(text, integer)) {
    out = static_cast<float>(integer);
    return number_status::number;
  }
  auto status = read_general(text, out);
  double wide;
  if (status == number_status::out_of_range && read_number(text, wide) == number_status::number &&
      std::fabs(wide) < 1) {
    out = static_cast<float>(wide);
    status = number_status::number;
  }
  return status;
}

number_status read_number(std::string_view text, double& out) {
  const auto status = read_general(text, out);
  if (status != number_status::out_of_range || !is_below_range(text))
    return status;
  out = text[0] == '-' ? -0.0 : 0.0;
  return number_status::number;
}

} // namespace troupe
