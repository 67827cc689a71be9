// Local training rounds: members train on their own for H steps, then their models are merged, and
// all go on. One object for a family of methods, by options:
//
//   local SGD            H steps, average                                    Stich 2019
//   federated averaging  H steps, weights by samples                         McMahan et al. 2017
//   DiLoCo               H in the hundreds, outer Nesterov                   Douillard et al. 2023
//   FedAdam, FedYogi     outer adam, yogi                                    Reddi et al. 2021
//   EASGD                elastic_alpha: members keep models of their own     Zhang et al. 2015
//
// A member is a part of the job, not a process: member i trains on the i-th part of the rows from
// what `work_of` gives it. So its result follows from (member, round) alone, on any trainer and
// however often. Merging runs in the order of members. So the bits of a round depend on the job,
// never on results that come early, twice or anew after a failure. With H = 1, plain SGD inside,
// weights by samples and `replace` outside, a round is a step of synchronous SGD to rounding:
//   sum w_i (theta - a g_i / n_i) = theta - a (sum g_i) / (sum n_i),  w_i = n_i / sum n
// (the gradients are added in another order, and n roundings of theta take the place of one).
//
//   open --result of the last member--> (merge) --> open, round + 1
//     \--a value or the main model is not finite--> diverged: the main model of before stays

#pragma once

#include "coordinators/modes/merged_span.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace troupe {

struct local_rounds_options {
  size_t member_count = 1;  ///< >= 1
  uint64_t local_steps = 1; ///< H >= 1: steps of each member in a round
  merge_options merge = {.rule = merge_rule::weighted, .weighting = merge_weighting::samples};
  outer_options outer = {};
  /// Elastic averaging with this alpha, in (0, 1], in place of merge and outer rule.
  std::optional<double> elastic_alpha = std::nullopt;
  averaging_options averaging = {}; ///< of the rounds' main models, for evaluation
};

/// The models of all members and the main model, of all parameters.
merged_span_options span_options_of(const local_rounds_options& options);

/// Members that a round needs.
size_t member_count_min(const local_rounds_options& options);

/// Which members of a round have come, and which it goes on without.
class round_members {
public:
  /// `needed`: that must be left to merge.
  round_members(size_t count, size_t needed) : states_(count), needed_(needed) {}

  /// Another round: none has come.
  void begin() { std::ranges::fill(states_, state::missing); }
  void come(size_t member) { states_.at(member) = state::here; }
  /// False: it has come, or too few would be left; nothing has changed.
  bool leave_out(size_t member);

  bool has_come(size_t member) const { return states_.at(member) == state::here; }
  bool is_left_out(size_t member) const { return states_.at(member) == state::left_out; }
  /// Ascending.
  std::vector<size_t> missing() const;
  bool is_complete() const { return count(state::missing) == 0; }
  bool are_enough() const { return count(state::here) >= needed_; }
  size_t size() const { return states_.size(); }

private:
  enum class state : uint8_t { missing, here, left_out };

  size_t count(state which) const {
    return static_cast<size_t>(std::ranges::count(states_, which));
  }

  std::vector<state> states_;
  size_t needed_;
};

/// What a member has to do.
struct local_work {
  uint64_t round = 0;
  uint64_t first_step = 0; ///< the member's steps [first_step, first_step + step_count)
  uint64_t step_count = 0; ///< H
  const_buffer parameters; ///< to start from
};

/// What became of a member's result.
enum class round_verdict : uint8_t {
  waits,     ///< for the other members
  closed,    ///< it was the last: the main model moved, a new round is open
  duplicate, ///< ignored: this result is here already
  stale,     ///< ignored: of a round that is over
  conflict,  ///< refused: another result of this member and round is here, with other bits
  misfit, ///< refused: no such member or round, another size, no samples, or not what merging needs
  diverged ///< a value is not finite: training is over
};

template <>
struct name_table<round_verdict> {
  static constexpr std::array entries{
    named(round_verdict::waits, "waits"),         named(round_verdict::closed, "closed"),
    named(round_verdict::duplicate, "duplicate"), named(round_verdict::stale, "stale"),
    named(round_verdict::conflict, "conflict"),   named(round_verdict::misfit, "misfit"),
    named(round_verdict::diverged, "diverged")};
};

class local_rounds {
public:
  /// All members start from `initial` (P). Throws std::invalid_argument for options out of range, a
  /// rule that cannot merge so few members, or an initial value that is not finite.
  local_rounds(const local_rounds_options& options, std::span<const float> initial);

  /// What this member has to do in the open round; asked as often as one likes. Throws
  /// std::invalid_argument for no such member.
  local_work work_of(size_t member) const;

  /// A member's model after its steps of `round`; `entry.child` is the member. Its values are
  /// shared, not copied. Throws std::invalid_argument when the rule finds no answer in the round's
  /// numbers.
  round_verdict finish(uint64_t round, merge_entry entry);

  /// Merges without the missing members, for callers that would rather not wait (a deadline): from
  /// here on the bits depend on which members were there. `waits` when there are too few to merge.
  round_verdict close_early();

  /// The open round ends without this member. `closed` when it was the last that was missing; `misfit`
  /// when too few are left to merge: nothing has changed.
  round_verdict leave_out(size_t member);

  /// Members whose result of the open round is not here and is waited for, ascending.
  std::vector<size_t> missing() const;

  /// The merged model, or the centre: a snapshot.
  const_buffer main_parameters() const { return model_.main_parameters(); }
  /// What to evaluate and save: the average of the main models that rounds ended with (never of the
  /// initial one) if one was asked for, else the last.
  std::vector<float> evaluated_parameters() const;

  uint64_t round() const { return round_; }
  bool diverged() const { return diverged_; }

private:
  round_verdict close();

  local_rounds_options options_;
  round_members members_;
  merged_span model_;
  uint64_t round_ = 0;
  bool diverged_ = false;
};

} // namespace troupe
