// What makes two cells of a column one value, in which order values stand, and which value a cell names: of
// classes and of categories.

#pragma once

#include <compare>
#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

/// Two cells with the same key are one value. Keys have the order of values: as numbers if all cells of the column
/// are numbers ("1" and "1.0" are one value), told apart by text where a double is too coarse; else by
/// the bytes of the text.
struct class_key {
  double value = 0;
  std::string_view text;

  friend auto operator<=>(const class_key&, const class_key&) = default;
};

/// Of a cell in a column of texts, and in one of numbers.
class_key key_of_text(std::string_view text);
class_key key_of_number(std::string_view text, double value);

/// Finds the class that a cell of a data file names: by its text, or by value when all classes are
/// numbers, as training told them apart ("1" and "1.0" are one class). Looks at `classes`.
class class_finder {
public:
  explicit class_finder(const std::vector<std::string>& classes);

  /// The number of the class; nothing for a text that names none.
  std::optional<size_t> find(std::string_view text) const;

private:
  std::map<std::string, size_t, std::less<>> by_text_;
  std::map<double, size_t> by_value_; ///< empty unless all classes are numbers
};

} // namespace troupe
