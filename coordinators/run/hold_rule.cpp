#include "coordinators/run/hold_rule.hpp"

#include <algorithm>

namespace troupe {

hold_decisions hold_rule::on_stop_requested() {
  if (phase_ != phase::running)
    return {};
  phase_ = phase::holding;
  return ask();
}

hold_decisions hold_rule::on_view(const cluster_view& view) {
  if (view.id <= view_.id)
    return {};
  view_ = view;
  if (phase_ == phase::named) {
    stop_version_ = std::max(stop_version_, view_.start_version);
    return {stop_at{stop_version_}};
  }
  return phase_ == phase::holding ? ask() : hold_decisions{};
}

hold_decisions hold_rule::on_held(const hold_answer& answer) {
  if (phase_ != phase::holding || answer.view != view_.id)
    return {};
  if (std::ranges::count(missing(), answer.name) == 0)
    return {};
  answers_[answer.name] = answer;
  return name_if_complete();
}

hold_decisions hold_rule::on_shard_versions(const std::vector<uint64_t>& versions) {
  if (phase_ != phase::named || std::ranges::count(versions, stop_version_ + 1) == 0)
    return {};
  return {stop_at{++stop_version_}};
}

std::vector<std::string> hold_rule::missing() const {
  std::vector<std::string> result;
  if (phase_ != phase::holding)
    return result;
  for (size_t i = 0; i < view_.members.size(); ++i) {
    const auto& who = view_.members[i];
    // A spare too: it may have had slices in the view before and not have this one yet.
    if ((who.replica_count > 0 || view_.holds_spans(i)) && !answers_.contains(who.name))
      result.push_back(who.name);
  }
  return result;
}

hold_decisions hold_rule::ask() {
  answers_.clear();
  const auto names = missing();
  return names.empty() ? hold_decisions{} : hold_decisions{ask_to_hold{view_.id, names}};
}

hold_decisions hold_rule::name_if_complete() {
  if (!missing().empty())
    return {};
  std::vector<uint64_t> numbers;
  for (const auto& [name, answer] : answers_) {
    numbers.insert(numbers.end(), answer.shard_versions.begin(), answer.shard_versions.end());
    numbers.push_back(answer.next_step);
  }
  phase_ = phase::named;
  stop_version_ = std::ranges::max(numbers);
  return {stop_at{stop_version_}};
}

} // namespace troupe
