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
#include <optional>
#include <vector>

namespace troupe {

class checkpoint_drafts {
public:
  explicit checkpoint_drafts(size_t slot_count) : slot_count_(slot_count) {}

  /// A term begins: nothing is drafted. `owners`: who has which elements.
  void begin_term(std::vector<tensor_source> owners);
  const std::vector<tensor_source>& owners() const { return owners_; }

  /// State of this version may come. Nobody is asked for it yet. False: it was expected before.
  bool expect(uint64_t version);
  /// What the director knows of an expected version; without it no draft is complete.
  void set_memory(checkpoint memory, moment now);
  /// Versions from this one on will not be reached.
  void drop_from(uint64_t version);

  /// The parameters (part 0) or an optimizer slot, whole. Of a version that is not expected: nothing.
  void on_tensor(uint64_t version, size_t part, const_buffer values);
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

  size_t slot_count_;
  std::vector<tensor_source> owners_;
  std::map<uint64_t, draft> drafts_; ///< by version
  repair_clock numbers_clock_;
};

} // namespace troupe
