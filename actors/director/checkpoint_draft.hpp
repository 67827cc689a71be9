// A checkpoint in the making: the director's memory of the run at one version, and the shards'
// copies of their state at that version, which come piece by piece in any order.

#pragma once

#include "troupe/actors/director/state_collector.hpp"
#include "troupe/data/checkpoint/checkpoint.hpp"

#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace troupe {

class checkpoint_draft {
public:
  /// Tensors are put together in buffers of `pool`, as by state_collector.
  checkpoint_draft(uint64_t version, size_t parameter_count, size_t slot_count,
                   std::shared_ptr<buffer_pool> pool = nullptr)
    : state_(version, parameter_count, slot_count, std::move(pool)) {}

  uint64_t version() const { return state_.version(); }

  /// What the director knows; without it no draft is complete.
  void set_memory(checkpoint memory) { memory_ = std::move(memory); }
  bool has_memory() const { return memory_.has_value(); }

  bool offer(const state_piece& news) { return state_.offer(news); }
  bool offer(const shard_numbers& news);

  /// Elements whose state is missing; a span without its numbers counts as missing.
  std::vector<index_range> missing(const std::vector<index_range>& spans) const;

  /// The checkpoint, once everything is there.
  std::optional<checkpoint> take(const std::vector<index_range>& spans);

private:
  std::optional<checkpoint> memory_;
  state_collector state_;
  std::set<uint64_t> told_; ///< first elements of spans whose numbers are here
  std::vector<double> numbers_;
  batch_sums book_;
};

} // namespace troupe
