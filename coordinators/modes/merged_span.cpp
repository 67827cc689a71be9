#include "coordinators/modes/merged_span.hpp"

#include "models/base/copy_values.hpp"
#include "models/base/own_copy.hpp"
#include "models/base/require.hpp"
#include "models/base/rounding.hpp"
#include "models/math/lanes.hpp"
#include "models/merging/average.hpp"

#include <algorithm>
#include <utility>

namespace troupe {

namespace {

constexpr requirement require_merged{"merged span"};

bool are_finite(std::span<const float> values) {
  return all_finite(values.data(), values.size());
}

} // namespace

merged_span::merged_span(const merged_span_options& options, const_buffer initial)
  : options_(options),
    outer_(options.outer, initial.size()),
    average_(options.averaging),
    main_(std::move(initial)),
    starts_(options.member_count, main_),
    results_(options.member_count) {
  require_merged(main_.size() > 0 && are_finite(main_.values()),
                 "the initial model is empty or not finite");
  for (size_t i = 0; i < options.member_count; ++i)
    states_.emplace_back(options.slot_count, main_.size());
  if (!has_members())
    groups_.resize(1, ring_sum{options.sums, main_.size()});
}

void merged_span::place(merge_entry entry, const optimizer_state& state) {
  if (state.slot_count() > 0)
    states_.at(entry.child) = state;
  results_.at(entry.child) = std::move(entry);
}

const merge_entry* merged_span::result_of(size_t member) const {
  const auto& result = results_.at(member);
  return result ? &*result : nullptr;
}

void merged_span::clear_results() {
  std::ranges::fill(results_, std::nullopt);
  for (auto& group : groups_)
    group.clear();
}

span_vectors merged_span::give(const sequence_entry& task) {
  return has_members()
           ? span_vectors{starts_.at(task.place), states_.at(task.place), !options_.elastic_alpha}
           : span_vectors{main_, {}};
}

void merged_span::take(const sequence_entry& task, const span_vectors& update) {
  if (has_members())
    return place({.child = task.place, .values = update.values, .sample_count = task.sample_count},
                 update.state);
  if (groups_.size() <= task.place)
    groups_.resize(task.place + 1, ring_sum{options_.sums, main_.size()});
  std::vector<int64_t> words(main_.size());
  join_words(update.values.values(), update.state.slot(0), words);
  groups_[task.place].add(words, task.sample_count, task.update_count);
}

std::vector<merge_entry> merged_span::entries() const {
  std::vector<merge_entry> result;
  for (const auto& one : results_)
    if (one)
      result.push_back(*one);
  for (size_t i = 0; i < groups_.size(); ++i)
    if (groups_[i].count() > 0)
      result.push_back({.child = i,
                        .values = own_copy(groups_[i].mean_onto(main_.values())),
                        .sample_count = groups_[i].weight()});
  return result;
}

bool merged_span::close(const sequence_entry& round) {
  const default_rounding rounding;
  bool is_finite = true;
  if (!round.is_void) {
    is_finite = options_.elastic_alpha ? move_elastically()
                : options_.noise
                  ? move_main(noised(round))
                  : move_main(merge(options_.merge, entries(), main_.values()).values);
    if (is_finite)
      average_.add(round.round, main_.values());
  }
  clear_results();
  return is_finite;
}

bool merged_span::move_main(std::span<const float> merged) {
  const buffer next{main_.size()};
  if (!outer_.apply(main_.values(), merged, next.values()))
    return false;
  main_ = next;
  std::ranges::fill(starts_, main_);
  return true;
}

bool merged_span::move_elastically() {
  std::vector<size_t> members;
  std::vector<std::span<const float>> locals;
  for (size_t i = 0; i < results_.size(); ++i)
    if (results_[i]) {
      members.push_back(i);
      locals.push_back(results_[i]->values.values());
    }
  const auto moved = elastic_average(main_.values(), locals, *options_.elastic_alpha);
  if (!are_finite(moved.centre) || !std::ranges::all_of(moved.locals, are_finite))
    return false;
  for (size_t k = 0; k < members.size(); ++k)
    starts_[members[k]] = own_copy(moved.locals[k]);
  main_ = own_copy(moved.centre);
  return true;
}

std::vector<float> merged_span::noised(const sequence_entry& round) const {
  const auto& [rule, divisor, stream] = *options_.noise;
  const auto clear = groups_.front().words();
  auto random = stream(clear, round.round, round.attempt);
  std::vector<int64_t> words{clear.begin(), clear.end()};
  add_noise(words, rule.variance(words.size()), random);
  return moved_by(main_.values(), words, groups_.front().fraction_bits(), divisor);
}

const_buffer merged_span::parameters() const {
  return average_.count() > 0 ? own_copy(average_.values()) : main_;
}

// The main model of clients is what is evaluated, unless that is an average.
state_shape merged_span::shape_of(const merged_span_options& options) {
  const bool has_members = options.member_count > 0;
  const size_t mains = has_members || options.averages() ? 1 : 0;
  const size_t starts = options.elastic_alpha ? options.member_count : 0;
  return state_shape{mains + starts + options.member_count * options.slot_count, 0} +
         outer_rule::shape_of(options.outer) + parameter_average::shape_of(options.averaging);
}

void merged_span::save(state_saver& out) const {
  if (has_members() || options_.averages())
    out.share(main_);
  if (options_.elastic_alpha)
    for (const auto& start : starts_)
      out.share(start);
  outer_.save(out);
  average_.save(out);
  for (const auto& state : states_)
    for (const auto& slot : state.slots())
      out.share(slot);
}

void merged_span::load(state_loader& in) {
  const auto next = [&] {
    auto model = in.vector();
    require_merged(model.size() == main_.size(), "a saved model has another number of parameters");
    return model;
  };
  if (has_members() || options_.averages())
    main_ = next();
  for (auto& start : starts_)
    start = options_.elastic_alpha ? next() : main_;
  outer_.load(in);
  average_.load(in);
  for (const auto& state : states_)
    for (size_t i = 0; i < options_.slot_count; ++i)
      copy_values(next().values(), state.slot(i).begin());
  clear_results();
}

} // namespace troupe
