// Values as a job file, `--set` or a variable writes them, with their positions: what keys
// (models/keys/key_table.hpp) read. app/toml/parse_toml.hpp makes them of a text.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace troupe {

/// Counted from 1; line 0 means unknown.
struct source_position {
  size_t line = 0;
  size_t column = 0;

  friend bool operator==(const source_position&, const source_position&) = default;
};

struct toml_entry;

struct toml_value {
  using list = std::vector<toml_value>;
  using table = std::vector<toml_entry>;

  /// std::monostate: a date or time, which no key of ours wants.
  std::variant<std::monostate, bool, int64_t, double, std::string, list, table> content;
  source_position at;

  template <class T>
  const T* as() const {
    return std::get_if<T>(&content);
  }
};

/// A key of a table with its value, in the order of the text.
struct toml_entry {
  std::string name;
  source_position at; ///< of the key
  toml_value value;
};

/// What a value is, for messages: "the integer 5", "the string 'abc'", "a list", "a table".
std::string description(const toml_value& value);

/// Texts that TOML reads back as the same value.
std::string toml_text(bool value);
std::string toml_text(uint64_t value);
std::string toml_text(double value);
std::string toml_text(std::string_view value);
std::string toml_text(const std::vector<size_t>& values);
std::string toml_text(const std::vector<double>& values);
std::string toml_text(const std::vector<std::string>& values);

} // namespace troupe
