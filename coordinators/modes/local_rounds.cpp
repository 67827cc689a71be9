#include "coordinators/modes/local_rounds.hpp"

#include "models/base/copy_values.hpp"
#include "models/base/rounding.hpp"
#include "models/math/lanes.hpp"
#include "models/merging/average.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <string>
#include <utility>

namespace troupe {

namespace {

void require(bool holds, const std::string& what) {
  if (!holds)
    throw std::invalid_argument("local rounds: " + what);
}

buffer copy_of(std::span<const float> values) {
  buffer result{values.size()};
  copy_values(values, result.values().begin());
  return result;
}

bool is_finite(std::span<const float> values) {
  return all_finite(values.data(), values.size());
}

bool same_result(const merge_entry& a, const merge_entry& b) {
  const auto x = a.values.values(), y = b.values.values();
  return a.sample_count == b.sample_count &&
         std::memcmp(x.data(), y.data(), x.size_bytes()) == 0; // bits: -0 is not 0 here
}

} // namespace

local_rounds::local_rounds(const local_rounds_options& options, std::span<const float> initial)
  : options_(options),
    outer_(options.outer, initial.size()),
    average_(options.averaging),
    main_(copy_of(initial)),
    starts_(options.member_count, main_),
    results_(options.member_count) {
  const auto needed = options.elastic_alpha ? size_t{1} : entry_count_min(options.merge);
  require(options.member_count >= needed, std::to_string(options.member_count) + " members, but " +
                                            std::string{name_of(options.merge.rule)} + " needs " +
                                            std::to_string(needed));
  require(options.local_steps >= 1, "a round needs at least one local step");
  require(!options.elastic_alpha || (*options.elastic_alpha > 0 && *options.elastic_alpha <= 1),
          "elastic_alpha must be above 0 and at most 1");
  require(!initial.empty() && is_finite(initial), "the initial model is empty or not finite");
}

local_work local_rounds::work_of(size_t member) const {
  require(member < starts_.size(), "there is no member " + std::to_string(member));
  return {round_, round_ * options_.local_steps, options_.local_steps, starts_[member]};
}

round_verdict local_rounds::finish(uint64_t round, merge_entry entry) {
  using enum round_verdict;
  if (diverged_)
    return diverged;
  if (round < round_ || (round == round_ && is_left_out(entry.child)))
    return stale;
  if (round > round_ || entry.child >= results_.size() || entry.sample_count == 0 ||
      entry.values.size() != main_.size() ||
      (!options_.elastic_alpha && misfit_of(options_.merge, entry)))
    return misfit;
  auto& place = results_[entry.child];
  if (place)
    return same_result(*place, entry) ? duplicate : conflict;
  if (!is_finite(entry.values.values())) {
    diverged_ = true;
    return diverged;
  }
  entry.layout.reset(); // all members have the main model's
  place = std::move(entry);
  ++result_count_;
  return is_complete() ? close() : waits;
}

round_verdict local_rounds::close_early() {
  const auto needed = options_.elastic_alpha ? size_t{1} : entry_count_min(options_.merge);
  if (diverged_)
    return round_verdict::diverged;
  return result_count_ < needed ? round_verdict::waits : close();
}

round_verdict local_rounds::leave_out(size_t member) {
  const auto needed = options_.elastic_alpha ? size_t{1} : entry_count_min(options_.merge);
  if (diverged_)
    return round_verdict::diverged;
  if (member >= results_.size() || results_[member] ||
      results_.size() - left_out_.size() - 1 < needed)
    return round_verdict::misfit;
  left_out_.push_back(member);
  return is_complete() ? close() : round_verdict::waits;
}

std::vector<size_t> local_rounds::missing() const {
  std::vector<size_t> result;
  for (size_t i = 0; i < results_.size(); ++i)
    if (!results_[i] && !is_left_out(i))
      result.push_back(i);
  return result;
}

bool local_rounds::is_left_out(size_t member) const {
  return std::ranges::find(left_out_, member) != left_out_.end();
}

bool local_rounds::is_complete() const {
  return result_count_ + left_out_.size() == results_.size();
}

round_verdict local_rounds::close() {
  const default_rounding rounding;
  if (options_.elastic_alpha ? move_elastically() : move_main())
    return round_verdict::closed;
  diverged_ = true;
  return round_verdict::diverged;
}

bool local_rounds::move_main() {
  std::vector<merge_entry> entries;
  for (const auto& result : results_)
    if (result)
      entries.push_back(*result);
  const auto merged = merge(options_.merge, std::move(entries));
  buffer next{main_.size()};
  if (!outer_.apply(main_.values(), merged.values, next.values()))
    return false;
  open_next(next);
  std::ranges::fill(starts_, main_);
  return true;
}

bool local_rounds::move_elastically() {
  std::vector<size_t> members;
  std::vector<std::span<const float>> locals;
  for (size_t i = 0; i < results_.size(); ++i)
    if (results_[i]) {
      members.push_back(i);
      locals.push_back(results_[i]->values.values());
    }
  const auto moved = elastic_average(main_.values(), locals, *options_.elastic_alpha);
  if (!is_finite(moved.centre) || !std::ranges::all_of(moved.locals, is_finite))
    return false;
  for (size_t k = 0; k < members.size(); ++k)
    starts_[members[k]] = copy_of(moved.locals[k]);
  open_next(copy_of(moved.centre));
  return true;
}

void local_rounds::open_next(const_buffer main) {
  main_ = std::move(main);
  ++round_;
  std::ranges::fill(results_, std::nullopt);
  result_count_ = 0;
  left_out_.clear();
  average_.add(round_, main_.values());
}

state_shape local_rounds::shape_of(const local_rounds_options& options) {
  const size_t model_count = 1 + (options.elastic_alpha ? options.member_count : 0);
  return state_shape{model_count, 1} + outer_rule::shape_of(options.outer) +
         parameter_average::shape_of(options.averaging);
}

void local_rounds::save(state_saver& out) const {
  out.count(round_);
  out.share(main_);
  if (options_.elastic_alpha)
    for (const auto& start : starts_)
      out.share(start);
  outer_.save(out);
  average_.save(out);
}

void local_rounds::load(state_loader& in) {
  const auto next = [&] {
    auto model = in.vector();
    require(model.size() == main_.size(), "a saved model has another number of parameters");
    return model;
  };
  round_ = in.count();
  main_ = next();
  for (auto& start : starts_)
    start = options_.elastic_alpha ? next() : main_;
  outer_.load(in);
  average_.load(in);
  std::ranges::fill(results_, std::nullopt);
  result_count_ = 0;
  left_out_.clear();
}

std::vector<float> local_rounds::evaluated_parameters() const {
  if (average_.count() > 0)
    return average_.values();
  const auto last = main_.values();
  return {last.begin(), last.end()};
}

} // namespace troupe
