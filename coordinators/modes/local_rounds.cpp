#include "coordinators/modes/local_rounds.hpp"

#include "models/base/own_copy.hpp"
#include "models/base/require.hpp"
#include "models/math/lanes.hpp"

#include <cstring>
#include <string>
#include <utility>

namespace troupe {

namespace {

constexpr requirement require_rounds{"local rounds"};

bool same_result(const merge_entry& a, const merge_entry& b) {
  const auto x = a.values.values(), y = b.values.values();
  return a.sample_count == b.sample_count &&
         std::memcmp(x.data(), y.data(), x.size_bytes()) == 0; // bits: -0 is not 0 here
}

} // namespace

merged_span_options span_options_of(const local_rounds_options& options) {
  const auto needed = member_count_min(options);
  require_rounds(options.member_count >= needed,
                 std::to_string(options.member_count) + " members, but " +
                   std::string{name_of(options.merge.rule)} + " needs " + std::to_string(needed));
  require_rounds(options.local_steps >= 1, "a round needs at least one local step");
  require_rounds(!options.elastic_alpha ||
                   (*options.elastic_alpha > 0 && *options.elastic_alpha <= 1),
                 "elastic_alpha must be above 0 and at most 1");
  merged_span_options result;
  result.member_count = options.member_count;
  result.merge = options.merge;
  result.outer = options.outer;
  result.elastic_alpha = options.elastic_alpha;
  result.averaging = options.averaging;
  return result;
}

size_t member_count_min(const local_rounds_options& options) {
  return options.elastic_alpha ? size_t{1} : entry_count_min(options.merge);
}

bool round_members::leave_out(size_t member) {
  const auto left = states_.size() - count(state::left_out);
  if (member >= states_.size() || states_[member] != state::missing || left - 1 < needed_)
    return false;
  states_[member] = state::left_out;
  return true;
}

std::vector<size_t> round_members::missing() const {
  std::vector<size_t> result;
  for (size_t i = 0; i < states_.size(); ++i)
    if (states_[i] == state::missing)
      result.push_back(i);
  return result;
}

local_rounds::local_rounds(const local_rounds_options& options, std::span<const float> initial)
  : options_(options),
    members_(options.member_count, member_count_min(options)),
    model_(span_options_of(options), own_copy(initial)) {}

local_work local_rounds::work_of(size_t member) const {
  require_rounds(member < members_.size(), "there is no member " + std::to_string(member));
  return {round_, round_ * options_.local_steps, options_.local_steps, model_.start_of(member)};
}

round_verdict local_rounds::finish(uint64_t round, merge_entry entry) {
  using enum round_verdict;
  const bool is_member = entry.child < members_.size();
  if (diverged_)
    return diverged;
  if (round < round_ || (round == round_ && is_member && members_.is_left_out(entry.child)))
    return stale;
  if (round > round_ || !is_member || entry.sample_count == 0 ||
      entry.values.size() != main_parameters().size() ||
      (!options_.elastic_alpha && misfit_of(options_.merge, entry)))
    return misfit;
  if (const auto* known = model_.result_of(entry.child))
    return same_result(*known, entry) ? duplicate : conflict;
  if (!all_finite(entry.values.values().data(), entry.values.size())) {
    diverged_ = true;
    return diverged;
  }
  entry.layout.reset(); // all members have the main model's
  members_.come(entry.child);
  model_.place(std::move(entry));
  return members_.is_complete() ? close() : waits;
}

round_verdict local_rounds::close_early() {
  if (diverged_)
    return round_verdict::diverged;
  return members_.are_enough() ? close() : round_verdict::waits;
}

round_verdict local_rounds::leave_out(size_t member) {
  if (diverged_)
    return round_verdict::diverged;
  if (!members_.leave_out(member))
    return round_verdict::misfit;
  return members_.is_complete() ? close() : round_verdict::waits;
}

std::vector<size_t> local_rounds::missing() const {
  return members_.missing();
}

round_verdict local_rounds::close() {
  sequence_entry round;
  round.round = round_ + 1;
  diverged_ = !model_.close(round);
  if (diverged_)
    return round_verdict::diverged;
  ++round_;
  members_.begin();
  return round_verdict::closed;
}

std::vector<float> local_rounds::evaluated_parameters() const {
  const auto evaluated = model_.parameters();
  const auto values = evaluated.values();
  return {values.begin(), values.end()};
}

} // namespace troupe
