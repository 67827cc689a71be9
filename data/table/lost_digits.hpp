// Numbers that are different in a file and one as float32, in which models compute: time stamps in milliseconds, long
// ids, decimals far from 0. The first numbers of each column tell.

#pragma once

#include "troupe/data/text/number_text.hpp"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace troupe {

class lost_digits {
public:
  /// Looks at 1,000 rows, or at fewer of many columns: 1 ms, which a small file takes to be read.
  explicit lost_digits(size_t column_count)
    : cells_left_(std::min<size_t>(1000 * column_count, 10'000)) {}

  bool wants_more() const noexcept { return cells_left_ > 0; }

  /// The next cell of a column.
  void add(size_t column, std::string_view cell) {
    --cells_left_;
    double exact = 0;
    if (read_number(cell, exact) == number_status::number &&
        static_cast<double>(static_cast<float>(exact)) != exact)
      columns_[column].push_back(exact);
  }

  /// "40 different numbers are 1 as float32", if more than a tenth of those of the column are lost; else nothing.
  std::string remark(size_t column) const {
    const auto found = columns_.find(column);
    if (found == columns_.end())
      return {};
    auto numbers = found->second;
    std::ranges::sort(numbers);
    const auto count = [&](const auto& are_one) {
      numbers.erase(std::unique(numbers.begin(), numbers.end(), are_one), numbers.end());
      return numbers.size();
    };
    const auto exact = count(std::equal_to<>{});
    const auto rounded =
      count([](double a, double b) { return static_cast<float>(a) == static_cast<float>(b); });
    return 10 * rounded >= 9 * exact ? std::string{}
                                     : std::to_string(exact) + " different numbers are " +
                                         std::to_string(rounded) + " as float32";
  }

private:
  std::unordered_map<size_t, std::vector<double>> columns_; ///< those that float32 does not have
  size_t cells_left_;
};

} // namespace troupe
