// The sums rule: how shards agree on sums over a gradient that none of them holds whole.
//
// Clipping by the global norm, or a rule that looks at the whole model, needs one more round before a
// step's update: each shard adds up its numbers (the squares of the mean gradient; products of vectors),
// block by block, and sends them to the others. Each adds those of all blocks in one tree over block
// indices. So the totals have the same bits for any placement of blocks, and every shard computes the
// same update on its own.
//
//   step != own version               -> stale or early: ignored
//   blocks outside the model          -> malformed: ignored
//   every block known, same numbers   -> duplicate: ignored
//   a block known with other numbers  -> conflict: equal work gave different bits; the run must end
//   otherwise                         -> accepted
//
// Nothing arrives early. A shard's sums of step v + 1 need gradients of v + 1; those need every
// span of version v + 1; and this shard's span of v + 1 needs all sums of step v.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace troupe {

enum class sums_verdict : uint8_t { accepted, stale, early, malformed, duplicate, conflict };

class sums_rule {
public:
  sums_rule() = default;
  /// Of as many numbers a block: at least one.
  explicit sums_rule(size_t block_count, uint64_t version = 0, size_t numbers_of_block = 1)
    : version_(version),
      of_block_(numbers_of_block),
      numbers_(block_count * numbers_of_block),
      is_known_(block_count) {}

  /// Decides on the numbers of the blocks from `first_block` on.
  sums_verdict offer(uint64_t step, size_t first_block, std::span<const double> numbers);

  /// The sums over all blocks once each is known; nothing before. (numbers of a block)
  std::optional<std::vector<double>> totals() const;

  /// Goes on to the next version with nothing known.
  void advance();

  uint64_t version() const { return version_; }
  size_t known_count() const { return known_count_; }

  friend bool operator==(const sums_rule&, const sums_rule&) = default;

private:
  uint64_t version_ = 0;
  size_t of_block_ = 1;
  std::vector<double> numbers_; ///< block by block
  std::vector<bool> is_known_;  ///< by block
  size_t known_count_ = 0;
};

} // namespace troupe
