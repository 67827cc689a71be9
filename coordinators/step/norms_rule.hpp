// The norms rule: how shards agree on the norm of a gradient that none of them holds whole.
//
// Clipping by the global norm needs one more round before a step's update: each shard sums the
// squares of its mean gradient, block by block, and tells the others. The sums of all blocks are
// added in one tree over block indices, so the norm has the same bits whoever holds which block,
// and every shard comes to the same factor on its own.
//
//   step != own version               -> stale or early: ignored
//   blocks outside the model          -> malformed: ignored
//   every block known, same sums      -> duplicate: ignored
//   a block known with another sum    -> conflict: equal work gave different bits; the run must end
//   otherwise                         -> accepted
//
// Nothing arrives early: a shard's sums of step v + 1 need gradients of v + 1, those need every
// span of version v + 1, and this shard's span of v + 1 needs all sums of step v.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace troupe {

enum class norms_verdict : uint8_t { accepted, stale, early, malformed, duplicate, conflict };

class norms_rule {
public:
  norms_rule() = default;
  explicit norms_rule(size_t block_count, uint64_t version = 0)
    : version_(version), sums_(block_count) {}

  /// Decides on the sums of squares of the blocks from `first_block` on.
  norms_verdict offer(uint64_t step, size_t first_block, std::span<const double> square_sums);

  /// The sum over all blocks once each is known; nothing before.
  std::optional<double> square_sum() const;

  /// Goes on to the next version with nothing known.
  void advance();

  uint64_t version() const { return version_; }
  size_t known_count() const { return known_count_; }

  friend bool operator==(const norms_rule&, const norms_rule&) = default;

private:
  uint64_t version_ = 0;
  std::vector<std::optional<double>> sums_; ///< by block
  size_t known_count_ = 0;
};

} // namespace troupe
