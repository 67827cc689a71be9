// Tables for people: cells in aligned columns, as the reports of a run, a model and a cluster print
// them.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace troupe {

/// Rows of cells in aligned columns, two blanks between them, none at the end of a line.
class text_table {
public:
  static constexpr size_t all_left = SIZE_MAX;

  /// The first `left_columns` columns are aligned to the left, the others to the right. `titles` is
  /// the first row; none when it is empty.
  text_table(size_t left_columns, std::vector<std::string> titles);

  void add(std::vector<std::string> cells);

  /// Every row on a line of its own. Widths count characters, not bytes: cells are UTF-8.
  std::string text() const;

private:
  size_t left_columns_;
  std::vector<std::vector<std::string>> rows_;
};

} // namespace troupe
