// Run tensors: the director's exchange. It fetches parameters, gathers checkpoints and has them written, one at a time.
// It serves processes the checkpoint that a term begins from.
//
//   fetch --- pieces come --> on_fetched
//   draft --- state comes --> last_checkpoint, being written --> on_checkpoint
//   begin_term --- a process asks for state ---> it is read from the checkpoint's file, piece by piece
//
// A model may be larger than the director's memory. So received pieces of a checkpoint go to its file at once, and so
// do fetched parameters where there is scratch room.

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

// Checkpoints in the making: the director's memory of the run at a version, and the shards' copies of their state at
// that version, which come in any order. A plain object: tensors and numbers go in, whole checkpoints and questions
// come out. It only knows which tensors are whole: their values go to the checkpoint's file as they come.
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

  /// A term begins without drafts. `owners`: the elements of each process.
  void begin_term(std::vector<tensor_source> owners);
  const std::vector<tensor_source>& owners() const { return owners_; }

  /// State of this version may come. Returns what the exchange must expect, without sources yet; nothing if it was
  /// expected before.
  std::optional<expectation> expect(uint64_t version);
  /// Sets the director's memory of an expected version; without it no draft is complete.
  void set_memory(checkpoint memory, moment now);
  /// Versions from this one on will not be reached.
  void drop_from(uint64_t version);

  void on_arrived(const tensor_arrived& news);
  /// False if the numbers are known already.
  bool on_numbers(const shard_numbers& news);

  /// The first complete checkpoint, without its parameters and slots, which the sink has. Drops it and all earlier
  /// drafts.
  std::optional<checkpoint> take_complete();
  /// Some drafts wait for state of shards.
  bool is_awaiting() const;
  /// Wants for numbers that are still missing although their tensors have come.
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
  /// Called with the results.
  struct listener {
    std::function<void(uint64_t version, const stored_tensor& parameters)> on_fetched;
    std::function<void(uint64_t version)> on_checkpoint; ///< complete, and on the disk
    /// Somebody asked for a stop: the result does not depend on a checkpoint any more.
    std::function<bool()> is_stopping;
  };

  run_tensors(director_context& context, const run_announcer& announcer, run_writes& writes,
              listener to);

  // ---- Messages ----

  /// True if the piece brought something new.
  bool on_piece(const sent_piece& news);
  void on_want(const sent_want& news);
  void on_credit(const sent_credit& news);
  void on_stamp(const sent_stamp& news);
  void on_numbers(const shard_numbers& news);
  /// Asks for what is missing.
  void tick(moment now);

  // ---- Orders of the other parts ----

  /// The context has the view of a new term: serves the checkpoint that processes begin from.
  void begin_term();
  /// Fetches all parameters of this version, in place of an earlier fetch.
  void fetch(uint64_t version);
  void stop_fetching();
  /// This version needs a checkpoint, which is neither written nor being written.
  bool is_checkpointed(uint64_t version) const;
  /// Begins a checkpoint. `memory`: the director's memory of its version.
  void draft(checkpoint memory);
  /// Versions from this one on will not be reached.
  void drop_drafts_from(uint64_t version);
  /// Some drafts wait for state of shards.
  bool is_awaiting() const { return drafts_.is_awaiting(); }
  /// This run writes no checkpoint any more.
  void give_up_checkpoints(const std::string& why);
  /// The disk is slower than training: the next checkpoint is in the making while one is being written.
  bool is_behind() const { return is_writing_ && drafts_.is_awaiting(); }

  /// The newest whole checkpoint, or the one resumed from; null: none. It is on the disk unless a write is under way.
  const std::shared_ptr<const checkpoint>& last_checkpoint() const { return checkpoint_; }

private:
  /// Carries out the effects of the exchange: sends, and handles arrived tensors.
  void settle();
  void on_arrived(const tensor_arrived& news);
  void on_asked(const tensor_asked& news) const;
  bool on_due(const piece_due& news);
  /// The processes of the current view and their elements.
  std::vector<tensor_source> owners();
  void fetch_to_scratch(expectation& what);
  void fetch_to_memory(expectation& what) const;
  void write(range_order what);
  void fail(const std::string& what, const failure& problem);
  void expect_state(uint64_t version);
  void write_if_complete();
  void on_written(const write_outcome& outcome);
  /// A checkpoint, or a part of one, was not written: fails the run, or gives up while it is being stopped.
  void on_unwritten(const failure& problem);
  void hand_out_checkpoint();

  director_context& context_;
  const run_announcer& announcer_;
  run_writes& writes_;
  listener to_;
  std::shared_ptr<buffer_pool> pool_;        ///< for fetched parameters without scratch room
  std::shared_ptr<scratch_tensor> fetching_; ///< takes the parameters that are being fetched
  checkpoint_drafts drafts_;
  std::shared_ptr<const checkpoint> checkpoint_;
  bool is_writing_ = false;      ///< `checkpoint_` is being written
  uint64_t written_version_ = 0; ///< of the newest on the disk; 0: there is none
  bool gave_up_ = false;
};

} // namespace troupe
