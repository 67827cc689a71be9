// What the holder of rows tells of them, and others of a run want to know: numbers of rows, and what scales features and
// targets; never a row.

#pragma once

#include "data/table/dataset.hpp"
#include "models/losses/target_scale.hpp"
#include "models/training/row_options.hpp"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

namespace troupe {

/// Shapes: F features, T targets, K classes, of rows as the table has them (holdings.hpp), before they are scaled.
struct holding_facts {
  holding_size size;
  /// Dense rows: of each feature (F), over its values in training rows that are there.
  std::vector<column_statistics> features{};
  std::vector<float>
    largest{}; ///< sparse rows: the greatest magnitude of each feature (F) in training rows
  uint64_t entry_count = 0;    ///< sparse rows: values that are not 0, in all parts
  column_statistics targets{}; ///< regression: of transformed targets (T) of training rows
  column_statistics test_targets{},
    validation_targets{}; ///< regression: of targets (T) as they are
  double target_minimum = std::numeric_limits<double>::infinity(); ///< regression: of all parts
  std::vector<uint64_t> train_class_rows{}; ///< classification: training rows of each class (K)
  std::vector<uint64_t> class_rows{};       ///< classification: rows of each class in all parts (K)
  bool is_weighted = false;                 ///< rows have weights ..
  holding_size counted{};                   ///< .. and so many of each part one above 0

  friend bool operator==(const holding_facts&, const holding_facts&) = default;
};

/// Of all together, in their order.
holding_facts operator+(const holding_facts& a, const holding_facts& b);

struct held_rows {
  std::string name;        ///< for people: a file's path, or who holds it
  std::string fingerprint; ///< SHA-256 of its content as read at first, hexadecimal
  holding_size size;
  std::vector<std::string> holders{}; ///< names of processes that have it; none: all have it
  /// Which rows of it those for training are, in their order; null: they are not here.
  std::shared_ptr<const std::vector<uint32_t>> source_rows{};
};

} // namespace troupe
