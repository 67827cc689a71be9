#include "troupe/coordinators/links/fact_words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstdint>

namespace troupe {

namespace {

/// Of a fact shown in a reason: a digest's beginning tells two apart.
constexpr size_t shown_max = 40;

constexpr std::string_view equals = " = ";

/// The first line of `text`, without its end; empty when there is none.
std::string_view first_line(std::string_view text) {
  return text.substr(0, text.find('\n'));
}

void remove_first_line(std::string_view& text) {
  const auto end = text.find('\n');
  text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
}

/// Empty for a fact that is one word.
std::string_view key_of(std::string_view line) {
  const auto at = line.find(equals);
  return at == std::string_view::npos ? std::string_view{} : line.substr(0, at);
}

std::string_view value_of(std::string_view line) {
  const auto at = line.find(equals);
  return at == std::string_view::npos ? line : line.substr(at + equals.size());
}

bool has_key(std::string_view text, std::string_view key) {
  for (; !text.empty(); remove_first_line(text))
    if (key_of(first_line(text)) == key)
      return true;
  return false;
}

// A job's keys have a dot, and its numbers are their bits in 16 hexadecimal digits: people are shown the number.
std::string with_numbers(std::string_view key, std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const auto end = std::min(text.find_first_not_of("0123456789abcdef"), text.size());
    uint64_t bits = 0;
    std::from_chars(text.data(), text.data() + end, bits, 16);
    result += end == 16 && key.find('.') != key.npos
                ? fmt::format("{}", std::bit_cast<double>(bits))
                : std::string{text.substr(0, end)};
    result += text.substr(end, 1);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return result;
}

std::string difference(std::string_view key, std::string_view of_a, std::string_view of_b) {
  return (key.empty() ? "" : shown_fact(key) + std::string{equals}) +
         shown_fact(with_numbers(key, of_a)) + " and " + shown_fact(with_numbers(key, of_b));
}

} // namespace

std::string shown_fact(std::string_view text) {
  std::string result{text.substr(0, shown_max)};
  std::ranges::replace_if(
    result, [](unsigned char c) { return c < 0x20 || c >= 0x7f; }, '?');
  if (text.size() > shown_max)
    result += "...";
  return result.empty() ? "nothing" : result;
}

std::string first_difference(std::string_view of_a, std::string_view of_b) {
  while (!of_a.empty() && first_line(of_a) == first_line(of_b)) {
    remove_first_line(of_a);
    remove_first_line(of_b);
  }
  if (of_a == of_b)
    return {};
  const auto a = first_line(of_a);
  const auto b = first_line(of_b);
  if (key_of(a) == key_of(b))
    return difference(key_of(a), value_of(a), value_of(b));
  if (!a.empty() && !b.empty() && (key_of(a).empty() || key_of(b).empty()))
    return difference({}, a, b);
  if (a.empty() || has_key(of_a, key_of(b)) < has_key(of_b, key_of(a)))
    return difference(key_of(b), {}, value_of(b));
  return difference(key_of(a), value_of(a), {});
}

} // namespace troupe
