// Reads the lines of the tables that a run writes (history.csv, rounds.csv), cell by cell. They hold
// numbers, and names that are no user's: nothing is quoted.

#pragma once

#include "data/text/failure.hpp"

#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

namespace troupe {

class cell_reader {
public:
  /// `where` is the line's place, for messages. Both outlive the reader.
  cell_reader(std::string_view line, const std::string& where) : rest_(line), where_(where) {}

  /// Throws failure(bad_data) when there is no cell left.
  std::string_view next_text() {
    if (is_over_)
      refuse("the line has fewer cells than the header");
    const auto comma = rest_.find(',');
    const auto result = rest_.substr(0, comma);
    is_over_ = comma == std::string_view::npos;
    rest_.remove_prefix(is_over_ ? rest_.size() : comma + 1);
    return result;
  }

  /// Throws also when it holds no such number.
  template <class Number>
  Number next() {
    return number_in<Number>(next_text());
  }

  /// Nothing of an empty cell.
  template <class Number>
  std::optional<Number> next_if_any() {
    const auto text = next_text();
    return text.empty() ? std::nullopt : std::optional{number_in<Number>(text)};
  }

  void expect_end() const {
    if (!is_over_)
      refuse("the line has more cells than the header");
  }

  [[noreturn]] void refuse(const std::string& why) const {
    throw failure(failure_code::bad_data, why, where_, "was the file changed by hand?");
  }

private:
  template <class Number>
  Number number_in(std::string_view text) const {
    Number result{};
    const auto* end = text.data() + text.size();
    if (const auto [stop, problem] = std::from_chars(text.data(), end, result);
        problem != std::errc{} || stop != end)
      refuse("'" + std::string{text} + "' is no number");
    return result;
  }

  std::string_view rest_;
  const std::string& where_;
  bool is_over_ = false;
};

} // namespace troupe
