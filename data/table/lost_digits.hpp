// Numbers that are different in a file and one as float32, in which models compute: time stamps in milliseconds, long
// ids, decimals far from 0. The first numbers of each column tell.

#pragma once

#include "troupe/data/text/number_text.hpp"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

namespace troupe {

class lost_digits {
public:
  /// Looks at 1,000 rows, or at fewer of many columns: some 30 ms.
  explicit lost_digits(size_t column_count)
    : cells_left_(std::min<size_t>(1000 * column_count, 50'000)) {}

  bool wants_more() const noexcept { return cells_left_ > 0; }

  /// The next cell of a column.
  void add(size_t column, std::string_view cell) {
    --cells_left_;
    double exact = 0;
    if (read_number(cell, exact) != number_status::number ||
        static_cast<double>(static_cast<float>(exact)) == exact)
      return;
    columns_[column].exact.insert(exact);
    columns_[column].rounded.insert(static_cast<float>(exact));
  }

  /// "40 different numbers are 1 as float32", if more than a tenth of those of the column are lost; else nothing.
  std::string remark(size_t column) const {
    const auto found = columns_.find(column);
    const auto exact = found == columns_.end() ? 0 : found->second.exact.size();
    const auto rounded = found == columns_.end() ? 0 : found->second.rounded.size();
    return 10 * rounded >= 9 * exact ? ""
                                     : std::to_string(exact) + " different numbers are " +
                                         std::to_string(rounded) + " as float32";
  }

private:
  struct seen_numbers { ///< those that float32 does not have
    std::unordered_set<double> exact;
    std::unordered_set<float> rounded;
  };

  std::unordered_map<size_t, seen_numbers> columns_;
  size_t cells_left_;
};

} // namespace troupe
