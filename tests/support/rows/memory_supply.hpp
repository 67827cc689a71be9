// A supply of rows that are in memory, and that a test may meddle with.

#pragma once

#include "data/rows_file/row_supply.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <utility>

namespace troupe::test {

class memory_supply : public row_supply {
public:
  explicit memory_supply(dataset rows) : rows_(std::move(rows)) {}

  dataset form() const override {
    dataset result;
    result.feature_count = rows_.feature_count;
    result.feature_names = rows_.feature_names;
    result.classes = rows_.classes;
    result.target_count = rows_.target_count;
    result.target_names = rows_.target_names;
    return result;
  }
  uint64_t row_count() const override { return rows_.row_count; }
  void read(uint64_t begin, const row_room& out) const override {
    const auto copy = [&](const auto& values, auto to, size_t width) {
      const auto end =
        std::min(values.size(), std::min<size_t>(begin * width + to.size(), written_max * width));
      for (auto i = begin * width; i < end; ++i)
        to[i - begin * width] = values[i];
    };
    copy(rows_.features, out.features, rows_.feature_count);
    copy(rows_.labels, out.labels, 1);
    copy(rows_.targets, out.targets, rows_.target_count);
    if (on_read)
      on_read(begin, out);
  }

  std::function<void(uint64_t begin, const row_room& out)> on_read; ///< after the rows are written
  size_t written_max = std::numeric_limits<uint32_t>::max();        ///< rows beyond are left out

private:
  dataset rows_;
};

} // namespace troupe::test
