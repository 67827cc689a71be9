// Run writes: the director's open orders to the writer. The director goes on until their answers
// come.
//
//   write, read ----> under way --done--> the caller is told      (or the run fails)
//                        |
//                        +--- all are done, if none of them fails --> on_idle
//
// Answers come in the order of the orders. So when a term's answer is here, every earlier
// checkpoint is written. No checkpoint is ordered between a term and the view that begins it, so
// none is under way when a term begins. Thus the view's start version is that of the newest
// checkpoint on the disk. Ranges of checkpoints in the making may be under way and do not count.
//
// The unwritten data are bounded: above `backlog_bytes_max` the director gives no process credit
// for more, until half of it is written.

#pragma once

#include "actors/director/director_context.hpp"
#include "actors/protocol/write_messages.hpp"
#include "coordinators/step/checkpoint_rule.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

namespace troupe {

/// Maximum bytes of values not written yet. Pieces that links have under way by then come on top.
inline constexpr size_t backlog_bytes_max = size_t{16} << 20;

class run_writes {
public:
  /// Called with the outcome: done, or failed, and then the run must end.
  using listener = std::function<void(const write_outcome& what)>;

  /// `on_idle`: called when all orders are answered.
  run_writes(director_context& context, std::function<void()> on_idle)
    : context_(context), on_idle_(std::move(on_idle)) {
    if (context_.options.writer)
      context_.self->link_to(context_.options.writer);
  }

  void write(std::shared_ptr<const checkpoint> what, listener to) {
    ++counting_;
    order(checkpoint_order{std::move(what)}, [this, to = std::move(to)](const auto& outcome) {
      --counting_;
      to(outcome);
    });
  }
  /// Writes a term; without checkpoints on the way it counts as written.
  void write_term(uint64_t term, listener to) {
    ordered_term_ = term;
    const auto every = context_.options.rule.checkpoint_every;
    if (!context_.options.writer || every == 0 || every == checkpoint_at_stop)
      return to({});
    ++counting_;
    order(term_order{term}, [this, to = std::move(to)](const auto& outcome) {
      --counting_;
      to(outcome);
    });
  }
  /// Writes a range. `to` is called after the answer, when there may be credit to give again.
  void write(range_order what, listener to) {
    const auto bytes = what.values.size() * sizeof(float);
    count_backlog(backlog_bytes_ + bytes);
    order(std::move(what), [this, bytes, to = std::move(to)](const auto& outcome) {
      count_backlog(backlog_bytes_ - bytes);
      to(outcome);
    });
  }
  void read(read_order what, listener to) { order(std::move(what), std::move(to)); }
  /// Drops checkpoints in the making from this version on.
  void drop_drafts_from(uint64_t version) {
    order(drop_order{version}, [](const write_outcome&) {});
  }

  /// A checkpoint or a term is being written.
  bool is_writing() const { return counting_ > 0; }
  /// Nothing is under way.
  bool is_idle() const { return under_way_ == 0; }
  /// A term was ordered and has not begun: a checkpoint of the old term comes too late now.
  bool is_between_terms() const { return ordered_term_ > context_.term(); }
  bool is_writing_term() const { return is_writing() && is_between_terms(); }
  /// How long the writer has owed an answer.
  moment::duration silence(moment now) const {
    return is_idle() ? moment::duration{0} : now - answered_;
  }

private:
  void count_backlog(size_t bytes) {
    backlog_bytes_ = bytes;
    const bool holds = bytes > (holds_credit_ ? backlog_bytes_max / 2 : backlog_bytes_max);
    if (holds != std::exchange(holds_credit_, holds))
      context_.exchange->hold_credit(holds);
  }

  /// If no answer comes, the writer has ended, and so has the director, which is linked to it.
  template <class Order>
  void order(Order what, listener to) {
    if (under_way_++ == 0)
      answered_ = context_.now();
    context_.self->request(context_.options.writer, caf::infinite, std::move(what))
      .then([this, to = std::move(to)](const write_outcome& outcome) {
        --under_way_;
        answered_ = context_.now();
        to(outcome);
        if (under_way_ == 0)
          on_idle_();
      });
  }

  director_context& context_;
  std::function<void()> on_idle_;
  size_t under_way_ = 0;
  moment answered_{};   ///< the last answer, or the first open order
  size_t counting_ = 0; ///< of these, checkpoints and terms
  uint64_t ordered_term_ = 0;
  size_t backlog_bytes_ = 0;
  bool holds_credit_ = false;
};

} // namespace troupe
