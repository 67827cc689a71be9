#include "coordinators/modes/parameters_coordinator.hpp"

#include "models/base/own_copy.hpp"
#include "models/base/rounding.hpp"
#include "models/math/reduction.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <utility>

namespace troupe {

namespace {

void require(bool holds, const std::string& what) {
  if (!holds)
    throw std::invalid_argument("parameters coordinator: " + what);
}

parameters_outcome refused(parameters_verdict verdict, std::string reason) {
  parameters_outcome result;
  result.verdict = verdict;
  result.reason = std::move(reason);
  return result;
}

} // namespace

parameters_coordinator::parameters_coordinator(const parameters_coordinator_options& options)
  : options_(options) {
  const auto needed = entry_count_min(options.merge);
  require(options.trigger == round_trigger::time || options.threshold >= needed,
          "a threshold of " + std::to_string(options.threshold) + " is too small for " +
            std::string{name_of(options.merge.rule)} + ", which needs " + std::to_string(needed));
  require(options.period > milliseconds::zero(), "the period must be positive");
  require(options.entries_max >= options.threshold, "entries_max is below the threshold");
  outer_rule{options.outer, 0}; // throws when its constants are out of range
}

void parameters_coordinator::set_parameters(std::span<const float> values) {
  require(!values.empty(), "the main model has no parameters");
  require(find_not_finite(std::array{values}) != 0, "a parameter is not finite");
  initial_ = own_copy(values);
  reset();
}

void parameters_coordinator::reset() {
  clear();
  main_ = initial_;
  round_count_ = 0;
  refused_round_count_ = 0;
  outer_.emplace(options_.outer, initial_.size());
}

void parameters_coordinator::clear() {
  entries_.clear();
  round_start_.reset();
}

std::optional<parameters_verdict> parameters_coordinator::misfit(const merge_entry& entry) const {
  using enum parameters_verdict;
  if (!main_)
    return no_parameters;
  if (!running_)
    return stopped;
  if (entry.values.size() != main_.size())
    return wrong_size;
  if (entry.sample_count == 0)
    return no_samples;
  if (find_not_finite(std::array{entry.values.values()}) == 0)
    return not_finite;
  if (entries_.size() >= options_.entries_max)
    return full;
  return std::nullopt;
}

// True when the entry took an older one's place.
bool parameters_coordinator::keep(merge_entry entry) {
  if (options_.trigger == round_trigger::distinct) {
    const auto older = std::ranges::find(entries_, entry.child, &merge_entry::child);
    if (older != entries_.end()) {
      *older = std::move(entry);
      return true;
    }
  }
  entries_.push_back(std::move(entry));
  return false;
}

void parameters_coordinator::add_child(uint64_t child) {
  children_.insert(child);
  gone_.erase(child);
}

parameters_outcome parameters_coordinator::remove_child(uint64_t child) {
  if (children_.erase(child) > 0)
    gone_.insert(child);
  const bool is_full = options_.trigger == round_trigger::distinct && running_ &&
                       !entries_.empty() && entries_.size() >= entries_due();
  return is_full ? merge_round() : parameters_outcome{};
}

// A child that is gone and has handed something in is not missing. The round waits for children that have not come yet.
size_t parameters_coordinator::entries_due() const {
  if (options_.trigger != round_trigger::distinct)
    return options_.threshold;
  const auto left_entries = std::ranges::count_if(
    entries_, [&](const merge_entry& entry) { return gone_.contains(entry.child); });
  const auto missing = gone_.size() - static_cast<size_t>(left_entries);
  const auto left = children_.size() + gone_.size() - missing;
  const auto due = std::max(left, options_.threshold - std::min(missing, options_.threshold));
  return std::clamp(due, std::min(entry_count_min(options_.merge), options_.threshold),
                    options_.threshold);
}

parameters_outcome parameters_coordinator::add_parameters(merge_entry entry, moment now) {
  if (const auto problem = misfit(entry))
    return refused(*problem, std::string{name_of(*problem)});
  // Checked before it waits: a child whose model cannot be merged must not spoil the round of the others.
  if (auto why = misfit_of(options_.merge, entry))
    return refused(parameters_verdict::misfit, std::move(*why));
  add_child(entry.child);
  entry.layout.reset();
  if (entries_.empty())
    round_start_ = now;
  parameters_outcome result;
  if (keep(std::move(entry)))
    result.verdict = parameters_verdict::replaced;
  if (options_.trigger == round_trigger::time)
    return now >= *next_time() ? on_time(now) : result;
  return entries_.size() >= entries_due() ? merge_round() : result;
}

std::optional<moment> parameters_coordinator::next_time() const {
  if (options_.trigger != round_trigger::time || !round_start_)
    return std::nullopt;
  return *round_start_ + options_.period;
}

parameters_outcome parameters_coordinator::on_time(moment now) {
  const auto due = next_time();
  if (!running_ || !due || now < *due)
    return {};
  if (entries_.size() < entry_count_min(options_.merge)) {
    round_start_ = now; // the rule cannot merge so few: another period for more
    return {};
  }
  return merge_round();
}

parameters_outcome parameters_coordinator::stop() {
  const bool was_running = running_;
  running_ = false;
  if (!was_running || entries_.empty())
    return {};
  const auto needed = entry_count_min(options_.merge);
  if (entries_.size() >= needed)
    return merge_round();
  parameters_outcome result;
  result.reason = std::to_string(entries_.size()) +
                  " models wait on: " + std::string{name_of(options_.merge.rule)} + " needs " +
                  std::to_string(needed);
  return result;
}

parameters_outcome parameters_coordinator::merge_round() {
  auto round = std::exchange(entries_, {});
  round_start_.reset();
  parameters_outcome result;
  // Caught here although this is no actor's edge: numbers that cannot be merged show only in the
  // middle of the algebra, and are not the caller's fault.
  try {
    const auto count = round.size();
    if (!move_to(merge(options_.merge, std::move(round), main_.values()))) {
      result.reason = "the main model would not be finite";
    } else {
      result.verdict = parameters_verdict::merged;
      result.merged_count = count;
    }
  } catch (const std::invalid_argument& problem) {
    result.reason = problem.what();
  }
  if (result.verdict != parameters_verdict::merged) {
    result.verdict = parameters_verdict::merge_refused;
    ++refused_round_count_;
    return result;
  }
  ++round_count_;
  if (options_.push)
    result.send_to.assign(children_.begin(), children_.end());
  return result;
}

bool parameters_coordinator::move_to(const merged_model& merged) {
  const default_rounding rounding;
  if (merged.values.size() != main_.size())
    throw std::invalid_argument("the merged model has " + std::to_string(merged.values.size()) +
                                " parameters, the main model " + std::to_string(main_.size()));
  const buffer next{main_.size()};
  if (!outer_->apply(main_.values(), merged.values, next.values()))
    return false;
  main_ = next;
  return true;
}

} // namespace troupe
