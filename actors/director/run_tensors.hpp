// Run tensors: the director's exchange. It fetches parameters, gathers checkpoints and has them
// written, one at a time, and hands out the one that a term begins from.
//
//   fetch --- pieces come --> on_fetched
//   draft --- state comes --> last_checkpoint, being written --> on_checkpoint
//   begin_term --- who asks for state ---> it is read from the checkpoint's file, piece by piece
//
// A model may be larger than the memory here. So what comes of a checkpoint goes to its file at once,
// and so do parameters that are fetched, where there is scratch room.

#pragma once

#include "actors/director/run_announcer.hpp"
#include "actors/director/run_writes.hpp"
#include "actors/protocol/cluster_messages.hpp"
#include "coordinators/exchange/repair_clock.hpp"
#include "coordinators/exchange/tensor_exchange.hpp"
#include "data/checkpoint/checkpoint_store.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace troupe {

// Checkpoints in the making: the director's memory of the run at a version, and the shards' copies
// of their state at that version, which come in any order. A plain object: what comes goes in, whole
// checkpoints and questions come out. Of tensors it knows only which are whole: their values go to the
// checkpoint's file as they come, so that a model may be larger than the director's memory.
//
//   expect ---> tensors and numbers come in ---+
//      \                                       +---> take_complete: to be written; older ones go
//       set_memory: what is missing is asked --+

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

class run_tensors {
public:
  /// What comes of it.
  struct listener {
    std::function<void(uint64_t version, const stored_tensor& parameters)> on_fetched;
    std::function<void(uint64_t version)> on_checkpoint; ///< it is complete, and on the disk
  };

  run_tensors(director_context& context, const run_announcer& announcer, run_writes& writes,
              listener to);

  // ---- What comes ----

  /// True when it brought something new.
  bool on_piece(const sent_piece& news);
  void on_want(const sent_want& news);
  void on_credit(const sent_credit& news);
  void on_stamp(const sent_stamp& news);
  void on_numbers(const shard_numbers& news);
  /// Asks for what is missing.
  void tick(moment now);

  // ---- What is wanted ----

  /// The context has the view of a new term. What processes begin with is there for who asks.
  void begin_term();
  /// All parameters of this version, in the place of those that were fetched before.
  void fetch(uint64_t version);
  void stop_fetching();
  /// This version's state is to be written, and is neither written nor under way.
  bool is_checkpointed(uint64_t version) const;
  /// `memory`: what the director knows of a version that is to be checkpointed.
  void draft(checkpoint memory);
  /// Versions from this one on will not be reached.
  void drop_drafts_from(uint64_t version);
  /// Some wait for others' state.
  bool is_awaiting() const { return drafts_.is_awaiting(); }
  /// The disk is slower than training: the next checkpoint is in the making while one is written.
  bool is_behind() const { return is_writing_ && drafts_.is_awaiting(); }

  /// The newest that was whole, or the one resumed from; null: there is none. It is on the disk
  /// unless something is being written.
  const std::shared_ptr<const checkpoint>& last_checkpoint() const { return checkpoint_; }

private:
  /// Sends what the exchange wants sent, and sees to what has come.
  void settle();
  void on_arrived(const tensor_arrived& news);
  void on_asked(const tensor_asked& news) const;
  bool on_due(const piece_due& news);
  /// Who has which elements in the current view.
  std::vector<tensor_source> owners();
  void fetch_to_scratch(expectation& what);
  void fetch_to_memory(expectation& what) const;
  void write(range_order what);
  void fail(const std::string& what, const failure& problem);
  void drop_files_from(uint64_t version);
  void expect_state(uint64_t version);
  void write_if_complete();
  void on_written(const write_outcome& outcome);
  std::string hint_of_older_checkpoint() const;
  void hand_out_checkpoint();

  director_context& context_;
  const run_announcer& announcer_;
  run_writes& writes_;
  listener to_;
  std::shared_ptr<buffer_pool> pool_;        ///< for what is fetched and has no scratch room
  std::shared_ptr<scratch_tensor> fetching_; ///< where the parameters go that are being fetched
  checkpoint_drafts drafts_;
  std::shared_ptr<const checkpoint> checkpoint_;
  bool is_writing_ = false;      ///< that one
  uint64_t written_version_ = 0; ///< of the newest on the disk; 0: there is none
};

} // namespace troupe
