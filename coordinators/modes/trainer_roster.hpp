// Trainer roster: the trainers of a parameter server, and the work of each. Each has a place: a lost trainer
// leaves its place empty, a new one takes the lowest empty place, or a further one.
//
//                         +--wait--> waits --release--+
//                         |                           v
//   empty --join-------> free --take--> at work --finish--> free
//     ^                   |                |
//     +-------lose--------+------lose------+
//
// Work is pieces: numbers, begun in ascending order, steps of a run or members of a round. Pieces of
// a lost trainer are given back and taken before new ones, the lowest first. A result counts only
// from the place that has the piece, under the ticket it was given with. So no piece is done twice,
// and none is left out but those that ended each of several trainers (`piece_losses`).
//
// A task has a *lease*: once that is over, another trainer gets the piece, and the first one's
// answer does not count but frees it. A lease is at least 20 times as long as any order took.
//
// Trainers also evaluate shares of versions. Each does one thing after the other, in the order
// given: its result shows that it has evaluated all shares from before that task. A lost trainer's
// open shares go to another.

#pragma once

#include "coordinators/base/canonical_tree.hpp"
#include "coordinators/base/moment.hpp"
#include "coordinators/membership/cluster_view.hpp"
#include "coordinators/modes/piece_homes.hpp"
#include "coordinators/modes/span_model.hpp"
#include "coordinators/run/replica_statistics.hpp"
#include "models/base/buffer.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace troupe {

// Piece losses: whether a piece of work ends every trainer that has it.
//
// A lost trainer's piece goes to another. A row that ends its reader would so end them all, one
// after the other. So each piece is given out `attempts` times; then it is left out.
//
//   give --lost--> give --lost--> .. --`attempts` lost--> wait --none is back for `patience`--> leave out
//                                                          |
//                                  give <--one is back-----+
//
// A trainer of another process may be out of reach and alive: when its process joins again in the same
// life, its loss does not count. Trainers of the parameter server's own process (life 0) never come back, so their
// pieces do not wait.
struct piece_loss_options {
  size_t attempts = 0; ///< losses of one piece; 0: any number
  milliseconds patience{10'000};
};

class piece_losses {
public:
  enum class advice : uint8_t { give, wait, leave_out };

  explicit piece_losses(const piece_loss_options& options = {}) : options_(options) {}

  /// `life`: of the trainer's process; 0: the parameter server's own.
  void on_lost(uint64_t piece, const replica_name& who, uint64_t life, moment now) {
    if (options_.attempts > 0)
      losses_[piece].push_back({who, life, now});
  }
  void on_joined(const replica_name& who, uint64_t life) {
    if (life != 0)
      for (auto& [piece, those] : losses_)
        std::erase_if(those, [&](const loss& x) { return x.who == who && x.life == life; });
  }

  advice of(uint64_t piece, moment now) const {
    const auto found = losses_.find(piece);
    if (found == losses_.end() || found->second.size() < options_.attempts)
      return advice::give;
    for (const auto& x : found->second)
      if (x.life != 0 && now < x.when + options_.patience)
        return advice::wait;
    return advice::leave_out;
  }

  /// It is done, or left out.
  void forget(uint64_t piece) { losses_.erase(piece); }
  void clear() { losses_.clear(); }

  friend bool operator==(const piece_losses& a, const piece_losses& b) {
    return a.losses_ == b.losses_;
  }

private:
  struct loss {
    replica_name who;
    uint64_t life = 0;
    moment when;

    friend bool operator==(const loss&, const loss&) = default;
  };

  piece_loss_options options_;
  std::map<uint64_t, std::vector<loss>> losses_;
};

/// A piece of work, as it was given to a trainer.
struct work_task {
  uint64_t ticket = 0; ///< no other task has it
  uint64_t piece = 0;

  friend bool operator==(const work_task&, const work_task&) = default;
};

/// Chunks of a version that one trainer evaluates.
struct evaluation_share {
  uint64_t version = 0;
  numbered_model model;
  index_range chunks; ///< not none

  friend bool operator==(const evaluation_share& a, const evaluation_share& b) {
    return a.version == b.version && a.chunks == b.chunks &&
           a.model.values.same_storage(b.model.values);
  }
};

/// A share, and the place that is to evaluate it.
struct given_share {
  size_t place = 0;
  evaluation_share share;

  friend bool operator==(const given_share&, const given_share&) = default;
};

struct roster_options {
  piece_loss_options losses = {};
  milliseconds lease{0}; ///< at least; 0: tasks have none
  piece_homes homes{};
};

class trainer_roster {
public:
  explicit trainer_roster(const roster_options& options = {})
    : options_(options), losses_(options.losses) {}

  // ---- Trainers. A life is a number that no other trainer has, at no time ----

  /// A trainer came, of a process in this life (0: the parameter server's own): its place.
  size_t join(uint64_t life, const replica_name& who, uint64_t process_life = 0);
  /// The trainer of this place is lost. Nothing changes when that was known.
  void lose(size_t place, moment now);

  std::optional<size_t> find(uint64_t life) const;
  /// Taken places of all others than these, ascending.
  std::vector<size_t> all_but(const std::vector<uint64_t>& lives) const;
  size_t place_count() const { return places_.size(); }
  size_t living_count() const { return living_places().size(); }

  // ---- Work ----

  /// True when a trainer has this place, has nothing to do and need not wait.
  bool is_free(size_t place) const {
    return place < places_.size() && places_[place].life && !places_[place].task &&
           !places_[place].waits && !places_[place].overdue;
  }
  /// Of the task that the place has; nothing: it has none.
  std::optional<uint64_t> ticket_at(size_t place) const {
    const auto& task = places_.at(place).task;
    return task ? std::optional{task->ticket} : std::nullopt;
  }
  /// There is a piece for a place to take when those below `limit` may be begun.
  bool has_work(size_t place, uint64_t limit, moment now = {}) const;
  /// Pieces that are not given out any more, ascending; each is named once, and then done.
  std::vector<uint64_t> take_left_out(moment now);
  /// Places whose tasks are out for too long, while another trainer is there, and these tasks' tickets: their pieces
  /// are given back.
  std::vector<std::pair<size_t, uint64_t>> take_overdue(moment now);
  /// True once for a place that has answered a task which it had had for too long: it is free again.
  bool take_returned(size_t place) {
    return place < places_.size() && std::exchange(places_[place].is_back, false);
  }
  /// Time alone may change something: a task is out, or a piece is held back.
  bool awaits_time() const;

  /// Is not free until it is released.
  void wait(size_t place) { places_.at(place).waits = true; }
  void release(const std::vector<size_t>& places);

  /// The place gets a piece: the lowest that was given back, else the next one that no trainer has
  /// begun. Throws std::logic_error when it is not free.
  uint64_t take(size_t place, uint64_t ticket, moment now);
  /// A result, which took so long to compute. True: it counts, and the place is free again. Others
  /// are counted as refused.
  bool finish(size_t place, const work_task& task, moment now, std::chrono::nanoseconds computed);

  /// The piece that `take` would give a place; the largest number where there is none for it yet.
  uint64_t next_piece(size_t place, moment now) const;

  /// Pieces are counted from 0 again, or those below `first` are done. Throws std::logic_error while
  /// one is not done.
  void start_anew(uint64_t first = 0);
  /// Pieces below it were taken once, or wait for who has their rows.
  uint64_t begun_count() const { return begun_count_; }

  // ---- Evaluations ----

  /// All chunks of a version are shared out.
  void evaluate(uint64_t version, const numbered_model& model, size_t chunk_count);
  /// The versions before this one need no evaluation any more.
  void forget_evaluations(uint64_t version);
  /// Shares that were given to a place since the last call, in order.
  std::vector<given_share> take_given();

  // ---- Figures ----

  /// What only the rule of the mode knows: waits, barriers, what became of gradients.
  training_statistics& statistics() { return statistics_; }
  const training_statistics& statistics() const { return statistics_; }
  /// Of all places, with the name of each place's trainer, or of its last one.
  std::vector<named_statistics> figures() const;

  friend bool operator==(const trainer_roster& a, const trainer_roster& b) {
    return a.losses_ == b.losses_ && a.places_ == b.places_ && a.returned_ == b.returned_ &&
           a.begun_count_ == b.begun_count_ && a.homeless_ == b.homeless_ && a.given_ == b.given_ &&
           a.statistics_ == b.statistics_;
  }

private:
  struct place_state {
    std::optional<uint64_t> life{}; ///< nothing: empty
    replica_name who{};
    uint64_t process_life = 0;
    std::optional<work_task> task{};
    std::optional<uint64_t> overdue{}; ///< ticket of a task that was given to others
    bool is_back = false;              ///< it has answered that
    moment since{};                    ///< it has its task
    bool waits = false;
    std::vector<evaluation_share> shares{}; ///< that it may not have evaluated yet
    size_t before_task = 0;                 ///< so many of them it was given before its last task

    friend bool operator==(const place_state&, const place_state&) = default;
  };

  std::vector<size_t> living_places() const;
  void give(size_t place, const evaluation_share& share);
  /// The place's open shares go to others.
  void pass_on(size_t place, const std::vector<evaluation_share>& shares);
  /// The lowest piece that was given back and may be given out, to this place.
  std::set<uint64_t>::const_iterator next_returned(size_t place, moment now) const;

  /// How many times as long as any order before a lease is.
  static constexpr int lease_factor = 20;

  roster_options options_;
  piece_losses losses_;
  moment::duration longest_{0}; ///< of the tasks that were answered
  std::vector<place_state> places_;
  std::set<uint64_t>
    returned_; ///< pieces of lost trainers, and those passed over for who has their rows
  uint64_t begun_count_ = 0;
  std::vector<evaluation_share> homeless_; ///< for the trainer that comes next
  std::vector<given_share> given_;
  training_statistics statistics_{0};
};

} // namespace troupe
