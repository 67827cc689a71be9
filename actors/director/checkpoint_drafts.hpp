// Checkpoints in the making: the director's memory of the run at a version, and the shards' copies
// of their state at that version, which come in any order. A plain object: what comes goes in, whole
// checkpoints and questions come out. Of tensors it knows only which are whole: their values go to the
// checkpoint's file as they come, so that a model may be larger than the director's memory.
//
//   expect ---> tensors and numbers come in ---+
//      \                                       +---> take_complete: to be written; older ones go
//       set_memory: what is missing is asked --+

#pragma once

#include "actors/protocol/cluster_messages.hpp"
#include "coordinators/exchange/repair_clock.hpp"
#include "coordinators/exchange/tensor_exchange.hpp"
#include "data/checkpoint/checkpoint_store.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace troupe {

class checkpoint_drafts {
public:
  /// Takes values of an expected version; each element once, in any order.
  using sink = std::function<void(const checkpoint_range& where, const float_view& values)>;

  checkpoint_drafts(size_t parameter_count, size_t slot_count, sink to)
    : parameter_count_(parameter_count), slot_count_(slot_count), sink_(std::move(to)) {}

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

  /// The first that is complete, without its parameters and slots: the sink has them. It and those
  /// before it are drafts no more.
  std::optional<checkpoint> take_complete();
  /// Some wait for others' state.
  bool is_awaiting() const;
  /// Questions for numbers that have been missing for long, whose tensors are here.
  std::vector<send_want> due(moment now);

private:
  struct draft {
    std::optional<checkpoint> memory;
    size_t tensor_count = 0;                ///< that are whole
    std::map<uint64_t, shard_numbers> told; ///< by first element of the span
  };
  bool has_tensors(const draft& x) const { return x.tensor_count == 1 + slot_count_; }
  bool has_numbers(const draft& x) const;

  size_t parameter_count_;
  size_t slot_count_;
  sink sink_;
  std::vector<tensor_source> owners_;
  std::map<uint64_t, draft> drafts_; ///< by version
  repair_clock numbers_clock_;
};

} // namespace troupe
