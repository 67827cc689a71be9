#include "models/keys/toml_value.hpp"

#include <array>
#include <charconv>

namespace troupe {

namespace {

std::string shortened(const std::string& text) {
  constexpr size_t length_max = 40;
  return text.size() <= length_max ? text : text.substr(0, length_max) + "...";
}

} // namespace

std::string description(const toml_value& value) {
  if (const auto* boolean = value.as<bool>())
    return *boolean ? "true" : "false";
  if (const auto* integer = value.as<int64_t>())
    return "the integer " + std::to_string(*integer);
  if (const auto* real = value.as<double>())
    return "the number " + toml_text(*real);
  if (const auto* text = value.as<std::string>())
    return "the string " + toml_text(shortened(*text));
  if (value.as<toml_value::list>())
    return "a list";
  return value.as<toml_value::table>() ? "a table" : "a date or time";
}

std::string toml_text(bool value) {
  return value ? "true" : "false";
}

std::string toml_text(uint64_t value) {
  return std::to_string(value);
}

std::string toml_text(double value) {
  std::array<char, 32> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
  std::string result(digits.data(), end);
  if (result.find_first_of(".einf") == std::string::npos) // a bare "3" would be an integer
    result += ".0";
  return result;
}

std::string toml_text(std::string_view value) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  std::string result = "\"";
  for (const char c : value) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\')
      (result += '\\') += c;
    else if (c == '\n')
      result += "\\n";
    else if (byte < 0x20 || byte == 0x7f)
      ((result += "\\u00") += digits[byte / 16]) += digits[byte % 16];
    else
      result += c;
  }
  return result + '"';
}

namespace {

template <class Value, class TextOf>
std::string list_text(const std::vector<Value>& values, TextOf text_of) {
  std::string result = "[";
  for (const auto& value : values)
    result += (result.size() > 1 ? ", " : "") + text_of(value);
  return result + "]";
}

} // namespace

std::string toml_text(const std::vector<size_t>& values) {
  return list_text(values, [](uint64_t value) { return toml_text(value); });
}

std::string toml_text(const std::vector<double>& values) {
  return list_text(values, [](double value) { return toml_text(value); });
}

std::string toml_text(const std::vector<std::string>& values) {
  return list_text(values, [](const std::string& value) { return toml_text(value); });
}

} // namespace troupe
