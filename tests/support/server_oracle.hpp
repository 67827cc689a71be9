// Parameter server's oracle: a bystander who hears what a parameter server does with its trainers (test_hooks) and says
// what it must never do. It keeps records of its own and asks no rule.
//
//   every mode    a piece of work is with one trainer at a time, and is done once; a result counts
//                 once, from the trainer that has the piece, and nothing of a lost one's counts
//   gradients     the staleness is that of the updates since the task
//   bounded       nobody begins more than s gradients ahead of the slowest, so nothing that is
//                 applied is later than (n - 1) (2 s + 1)
//   first k       a step closes with k gradients or more (or as many as trainers are left), and
//                 as soon as it has them
//   lag           nobody loses two gradients in a row, or one that nobody else has made late
//   local rounds  every (round, member) is merged once, and no round begins before the last is
//                 whole
//   federated     every (round, piece) is added once, and no round begins while a piece of another
//                 is with somebody

#pragma once

#include "actors/base/test_hooks.hpp"
#include "coordinators/job/job.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace troupe::test {

class server_oracle {
public:
  server_oracle(const troupe::training_options& what, size_t trainer_count)
    : what_(what), places_(trainer_count) {}

  void on(const trainer_event& x) {
    using enum trainer_event::kind;
    ++counts_[x.what];
    if (x.trainer == places_.size() && x.what == joined)
      places_.emplace_back().lives = false;
    if (x.trainer >= places_.size())
      return complain("there is no such trainer", x);
    switch (x.what) {
    case given:
      return on_given_work(x);
    case used:
    case discarded:
      return on_counted(x);
    case refused:
      if (is_open(x))
        complain("a result was refused that should count", x);
      return;
    case lost:
      return on_lost(x);
    case joined:
      return on_joined(x);
    }
  }

  /// Training ended at this version.
  void on_end(uint64_t version) {
    for (const auto& [round, count] : merged_)
      if (count != *what_.members)
        violations_.push_back("round " + std::to_string(round) + " has " + std::to_string(count) +
                              " members' models");
    if (is_rounds() || is_federated()) {
      for (const auto& one : places_)
        if (one.lives && one.busy)
          violations_.push_back("training ended while somebody was at work");
      return;
    }
    for (uint64_t step = 0; step < version; ++step)
      if (!done_.contains({0, step}))
        violations_.push_back("step " + std::to_string(step) + " was never done");
  }

  const std::vector<std::string>& violations() const { return violations_; }
  size_t count(trainer_event::kind what) const {
    const auto found = counts_.find(what);
    return found == counts_.end() ? 0 : found->second;
  }
  uint64_t staleness_max() const { return staleness_max_; }
  /// first k: steps that closed, those among them that a loss closed, and gradients of the open
  /// one.
  uint64_t steps_closed() const { return updates_; }
  uint64_t steps_closed_by_losses() const { return closed_by_losses_; }
  size_t held() const { return held_; }

private:
  struct place {
    bool lives = true;
    bool busy = false;
    trainer_event task{};
    uint64_t updates_at_task = 0;
    uint64_t clock = 0; ///< gradients handed in
    size_t discards_in_row = 0;
  };

  bool is_rounds() const { return what_.strategy == strategy_kind::parameters; }
  bool is_federated() const { return what_.strategy == strategy_kind::federated; }
  bool is(consistency_kind x) const {
    return what_.strategy == strategy_kind::gradients && what_.consistency == x;
  }

  size_t living() const {
    return static_cast<size_t>(std::ranges::count(places_, true, &place::lives));
  }
  uint64_t slowest() const {
    auto result = ~uint64_t{0};
    for (const auto& x : places_)
      if (x.lives)
        result = std::min(result, x.clock);
    return result;
  }
  size_t needed() const { return std::min<size_t>(what_.first_count, living()); }

  bool is_open(const trainer_event& x) const {
    const auto& here = places_[x.trainer];
    return here.lives && here.busy && here.task.ticket == x.ticket && here.task.piece == x.piece;
  }

  void on_given_work(const trainer_event& x) {
    auto& here = places_[x.trainer];
    if (!here.lives || here.busy)
      complain("work for somebody who is lost or busy", x);
    for (const auto& other : places_)
      if (other.busy && other.task.piece == x.piece)
        complain("a piece that another has", x);
    for (const auto& other : places_)
      if (is_federated() && other.busy && other.task.round != x.round)
        complain("a round began while somebody was at the last", x);
    if (done_.contains({x.round, x.piece}))
      complain("a piece that is done", x);
    if (!tickets_.insert(x.ticket).second)
      complain("a ticket that was given before", x);
    if (is_rounds() && x.round > 0 && merged_[x.round - 1] != *what_.members)
      complain("a round began before the last was whole", x);
    if (is(consistency_kind::bounded) && here.clock > slowest() + what_.staleness_max)
      complain("further ahead of the slowest than the bound", x);
    here.busy = true;
    here.task = x;
    here.updates_at_task = updates_;
  }

  void on_counted(const trainer_event& x) {
    if (!is_open(x))
      complain("a result counts that is nobody's to give", x);
    auto& here = places_[x.trainer];
    here.busy = false;
    ++here.clock;
    if (!done_.insert({x.round, x.piece}).second)
      complain("a piece is done twice", x);
    if (is_rounds()) {
      ++merged_[x.round];
      return;
    }
    if (is_federated())
      return;
    if (x.staleness != updates_ - here.updates_at_task)
      complain("the staleness is not that of the updates since", x);
    if (x.what == trainer_event::kind::discarded)
      return on_discarded(here, x);
    here.discards_in_row = 0;
    on_applied(x);
  }

  void on_discarded(place& here, const trainer_event& x) {
    if (!is(consistency_kind::lag))
      complain("nothing is discarded in this mode", x);
    if (++here.discards_in_row > 1 || living() == 1 || x.staleness == 0)
      complain("a gradient was discarded that should count", x);
  }

  void on_applied(const trainer_event& x) {
    staleness_max_ = std::max(staleness_max_, x.staleness);
    if (is(consistency_kind::bounded) &&
        x.staleness > (places_.size() - 1) * (2 * what_.staleness_max + 1))
      complain("later than the bound allows", x);
    if (!is(consistency_kind::half_synchronous)) {
      ++updates_;
      return;
    }
    ++held_;
    if (x.completes_step != (held_ >= needed()))
      complain(x.completes_step ? "a step closed with too few gradients"
                                : "a step has all its gradients and stays open",
               x);
    if (x.completes_step)
      close_step();
  }

  void close_step() {
    held_ = 0;
    ++updates_;
  }

  void on_lost(const trainer_event& x) {
    auto& here = places_[x.trainer];
    if (!here.lives)
      complain("somebody was lost twice", x);
    here.lives = here.busy = false;
    if (held_ > 0 && held_ >= needed()) { // they waited for this one alone
      close_step();
      ++closed_by_losses_;
    }
  }

  void on_joined(const trainer_event& x) {
    auto& here = places_[x.trainer];
    if (here.lives)
      complain("a seat that is taken", x);
    here.clock = std::max(here.clock, living() > 0 ? slowest() : 0);
    here.lives = true;
  }

  void complain(const std::string& what, const trainer_event& x) {
    violations_.push_back(what + ": trainer " + std::to_string(x.trainer) + ", ticket " +
                          std::to_string(x.ticket) + ", piece " + std::to_string(x.piece) +
                          ", staleness " + std::to_string(x.staleness));
  }

  troupe::training_options what_;
  std::vector<place> places_;
  std::set<std::pair<uint64_t, uint64_t>> done_; ///< round, piece
  std::set<uint64_t> tickets_;
  std::map<uint64_t, uint64_t> merged_; ///< by round
  uint64_t updates_ = 0;
  uint64_t closed_by_losses_ = 0;
  size_t held_ = 0;
  uint64_t staleness_max_ = 0;
  std::map<trainer_event::kind, size_t> counts_;
  std::vector<std::string> violations_;
};

} // namespace troupe::test
