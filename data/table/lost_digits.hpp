// Numbers that are different in a file and one as float32, in which models compute: time stamps in milliseconds, long
// ids, decimals far from 0. The first numbers of each column tell.

#pragma once

#include "data/text/number_text.hpp"
#include "data/text/shown_text.hpp"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

class lost_digits {
public:
  /// Looks at 1,000 rows, or at fewer of ten columns or more: 1 ms, which a small file takes to be read.
  explicit lost_digits(size_t column_count = 10)
    : cells_left_(std::min<size_t>(1000 * column_count, 10'000)) {}

  bool wants_more() const noexcept { return cells_left_ > 0; }

  /// The next cell of a column. While it `wants_more`.
  void add(size_t column, std::string_view cell) {
    double exact = 0;
    add(column, read_number(cell, exact) == number_status::number ? exact : 0.0);
  }
  void add(size_t column, double exact) {
    --cells_left_;
    if (static_cast<double>(static_cast<float>(exact)) != exact)
      columns_[column].push_back(exact);
  }

  /// Appends to `remarks` what is lost in the file. `name_of(column)`: its name; empty for one that models do not read
  /// as numbers.
  template <class NameOf>
  void add_remarks(const std::string& path, NameOf name_of,
                   std::vector<std::string>& remarks) const {
    for (const auto& [column, numbers] : columns_)
      if (const auto lost = loss_of(numbers); !lost.empty())
        if (const std::string name = name_of(column); !name.empty())
          remarks.push_back(path + ": the column " + shown_text(name) + " loses digits: " + lost +
                            ", in which models compute; subtract a number near them in the file "
                            "(of times the first "
                            "one), or leave the column out");
  }

private:
  /// "40 different numbers are 1 as float32", if more than a tenth of them are lost; else nothing.
  static std::string loss_of(std::vector<double> numbers) {
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

  std::map<size_t, std::vector<double>> columns_; ///< those that float32 does not have
  size_t cells_left_;
};

} // namespace troupe
