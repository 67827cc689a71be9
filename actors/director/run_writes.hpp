// Run writes: what is being written. Orders go to the writer, answers come back; meanwhile the
// director goes on.
//
//   write ----> under way --written--> the caller is told      (or the run fails)
//                  |
//                  +--- all are written, if none of them fails --> on_idle
//
// Answers come in the order of the orders. So when a term's is here, every checkpoint that was
// ordered before it counts; and none is ordered between a term and the view that begins it, so none
// is under way when a term begins: the view's start version is that of the newest on the disk.

#pragma once

#include "troupe/actors/director/director_seat.hpp"
#include "troupe/actors/protocol/write_messages.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

namespace troupe {

class run_writes {
public:
  /// It is written, or not: then the run has to end.
  using listener = std::function<void(const write_outcome& what)>;

  /// `on_idle`: everything that was under way has its answer.
  run_writes(director_seat& seat, std::function<void()> on_idle)
    : seat_(seat), on_idle_(std::move(on_idle)) {
    if (seat_.options.writer)
      seat_.self->link_to(seat_.options.writer);
  }

  void write(std::shared_ptr<const checkpoint> what, listener to) {
    order(checkpoint_order{std::move(what)}, std::move(to));
  }
  /// Without a writer it counts as written.
  void write_term(uint64_t term, listener to) {
    ordered_term_ = term;
    if (seat_.options.writer)
      order(term_order{term}, std::move(to));
    else
      to({});
  }

  bool is_writing() const { return under_way_ > 0; }
  /// A term was ordered and has not begun: what completes of the one before is too late.
  bool is_between_terms() const { return ordered_term_ > seat_.term(); }
  bool is_writing_term() const { return is_writing() && is_between_terms(); }

private:
  /// Without an answer the writer is gone, and so is the director, which is linked to it.
  template <class Order>
  void order(Order what, listener to) {
    ++under_way_;
    seat_.self->request(seat_.options.writer, caf::infinite, std::move(what))
      .then([this, to = std::move(to)](const write_outcome& outcome) {
        --under_way_;
        to(outcome);
        if (under_way_ == 0)
          on_idle_();
      });
  }

  director_seat& seat_;
  std::function<void()> on_idle_;
  size_t under_way_ = 0;
  uint64_t ordered_term_ = 0;
};

} // namespace troupe
