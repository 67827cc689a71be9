// In which order an epoch visits the training rows.
//
// A mini-batch run shuffles the rows anew each epoch, as a function of (seed, epoch) alone; a full
// batch keeps them as they are, since every step sees them all. One object serves all replicas of a
// process; the orders of the newest epochs are kept, so most calls only copy a pointer.

#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace troupe {

class epoch_order {
public:
  /// `row_count` rows, at most 2^32 - 1. `shuffled` is false for a full batch.
  epoch_order(uint64_t seed, size_t row_count, bool shuffled);

  /// The row at each position of epoch `epoch` (from 0); null when rows are not shuffled.
  /// Thread-safe.
  std::shared_ptr<const std::vector<uint32_t>> of(uint64_t epoch) const;

private:
  struct entry {
    uint64_t epoch;
    std::shared_ptr<const std::vector<uint32_t>> rows;
  };

  uint64_t seed_;
  size_t row_count_;
  bool shuffled_;
  mutable std::mutex mutex_;
  mutable std::vector<entry> kept_; ///< at most two: replicas may stand on both sides of a boundary
};

} // namespace troupe
