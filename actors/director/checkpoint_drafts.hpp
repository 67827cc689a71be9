// Checkpoints in the making: the director's memory of the run at a version, and the shards' copies
// of their state at that version, which come in any order. A plain object: what comes goes in, whole
// checkpoints and questions come out.
//
//   expect ---> tensors and numbers come in ---+
//      \                                       +---> take_complete: to be written; older ones go
//       set_memory: what is missing is asked --+

#pragma once

#include "troupe/actors/protocol/cluster_messages.hpp"
#include "troupe/coordinators/exchange/repair_clock.hpp"
#include "troupe/coordinators/exchange/tensor_exchange.hpp"
#include "troupe/data/checkpoint/checkpoint.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace troupe {

/// A whole tensor as a buffer of its own size: the one it lies in, if that has this size.
const_buffer whole_buffer(const float_view& values, buffer_pool& pool);

class checkpoint_drafts {
public:
  /// `pool`: of buffers of a tensor's size.
  checkpoint_drafts(size_t parameter_count, size_t slot_count, std::shared_ptr<buffer_pool> pool)
    : parameter_count_(parameter_count), slot_count_(slot_count), pool_(std::move(pool)) {}

  /// A term begins: nothing is drafted. `owners`: who has which elements.
  void begin_term(std::vector<tensor_source> owners);
  const std::vector<tensor_source>& owners() const { return owners_; }

  /// State of this version may come: what the exchange is to expect of nobody yet. Nothing when it
  /// was expected before.
  std::optional<expectation> expect(uint64_t version);
  /// What the director knows of an expected version; without it no draft is complete.
  void set_memory(checkpoint memory, moment now);
  /// Versions from this one on will not be reached.
  void drop_from(uint64_t version);

  void on_arrived(const tensor_arrived& news);
  /// False when it says nothing new.
  bool on_numbers(const shard_numbers& news);

  /// The first that is complete; it and those before it are drafts no more.
  std::optional<checkpoint> take_complete();
  /// Some wait for others' state.
  bool is_awaiting() const;
  /// Questions for numbers that have been missing for long, whose tensors are here.
  std::vector<send_want> due(moment now);

private:
  struct draft {
    std::optional<checkpoint> memory;
    std::vector<const_buffer> tensors;      ///< by part; empty until it is here
    std::map<uint64_t, shard_numbers> told; ///< by first element of the span
  };
  bool has_tensors(const draft& x) const;
  bool has_numbers(const draft& x) const;

  size_t parameter_count_;
  size_t slot_count_;
  std::shared_ptr<buffer_pool> pool_;
  std::vector<tensor_source> owners_;
  std::map<uint64_t, draft> drafts_; ///< by version
  repair_clock numbers_clock_;
};

} // namespace troupe
