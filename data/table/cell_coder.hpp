// Numbers for the cells of a file's feature columns, by a plan (column_plan.hpp) that is known, or that is learned on
// the way: categories are those of all rows, which nobody has before the last one.
//
//   cell_coder coder{choice, feature_columns};
//   coder.code(slot, cell, number);        // each cell of each row
//   const auto plan = coder.learn(cells);  // all numbers: categories get their final ones

#pragma once

#include "data/table/cell_text.hpp"
#include "data/table/column_plan.hpp"
#include "models/training/row_options.hpp"

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace troupe {

// What makes two cells of a column one value, in which order values stand, and which value a cell names: of
// classes and of categories.

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

/// The values of several lists, each of which is in the order of values, in that order: of classes, where one value may
/// have several texts, of which the first counts, and of categories, where it has not.
std::vector<std::string> joined_classes(std::span<const std::vector<std::string>> lists);
std::vector<std::string> joined_categories(std::span<const std::vector<std::string>> lists);

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

enum class cell_status : uint8_t {
  coded,
  missing,    ///< NaN was written
  unreadable, ///< it is not what its column holds
  not_utf8,   ///< a category's text
  too_many,   ///< one category more than there may be
  other_unit, ///< an amount with another unit than the cells before, or without theirs
};

class cell_coder {
public:
  /// Learns: `columns` are those of the features, with their kinds, and without categories.
  cell_coder(const column_options& choice, std::vector<plan_column> columns,
             std::optional<plan_column> target = {});

  /// Knows.
  explicit cell_coder(column_plan plan);

  const column_plan& plan() const noexcept { return plan_; }

  /// The number of a cell, trimmed, in the column of this place in the plan. Where it is not `coded` or
  /// `missing`, `out` is as it was.
  cell_status code(size_t slot, std::string_view cell, float& out);

  /// The same for a target that the plan reads; at most a double has all its digits.
  cell_status code_target(std::string_view cell, double& out);

  /// By its text: of a category, a date and the like.
  bool is_missing(std::string_view cell) const;
  /// By its text, or by value where what says so is a number: -999.0 as -999.
  bool is_missing_number(std::string_view cell) const;

  /// Gives the categories in `cells` (N x S), and no others, their final numbers, and returns the plan: categories
  /// in order, and marks where there are gaps. Once, after the last cell.
  column_plan learn(std::span<float> cells);

  /// "3 cells are categories that training has not seen: 'city' has 'Paris', ..", or nothing.
  std::string unseen_remark() const;

private:
  struct text_hash : std::hash<std::string_view> {
    using is_transparent = void;
  };
  using text_codes = std::unordered_map<std::string, uint32_t, text_hash, std::equal_to<>>;

  struct unseen_cells {
    uint64_t count = 0;
    std::vector<std::string> texts{}; ///< the first ones
  };

  cell_status code_category(size_t slot, std::string_view cell, float& out);
  cell_status code_new_category(size_t slot, std::string_view cell, float& out);
  cell_status code_amount(size_t slot, std::string_view cell, double& out);
  void find_marks();
  void count_unseen(size_t slot, std::string_view cell);
  void sort_categories(size_t slot, std::span<float> cells);

  column_plan plan_;
  std::vector<double> marks_;    ///< the missing cells that are numbers
  std::vector<unit_rule> units_; ///< S, and the target's
  bool learns_;
  size_t categories_left_ = 0;        ///< while learning
  bool marks_numbers_ = false;        ///< likewise
  std::vector<text_codes> codes_;     ///< S, while learning: by appearance
  std::vector<class_finder> finders_; ///< S, of a known plan
  std::vector<unseen_cells> unseen_;  ///< S, of a known plan
};

} // namespace troupe
