#include "troupe/data/number_text.hpp"

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

} // namespace

number_status read_number(std::string_view text, float& out) {
  uint32_t integer;
  if (read_short_integer(text, integer)) {
    out = static_cast<float>(integer);
    return number_status::number;
  }
  auto status = read_general(text, out);
  double wide;
  if (status == number_status::out_of_range && read_general(text, wide) == number_status::number &&
      std::fabs(wide) < 1) {
    out = static_cast<float>(wide);
    status = number_status::number;
  }
  return status;
}

number_status read_number(std::string_view text, double& out) {
  return read_general(text, out);
}

} // namespace troupe
