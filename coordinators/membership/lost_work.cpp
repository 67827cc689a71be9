#include "coordinators/membership/lost_work.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace troupe {

void lost_work::on_view(const cluster_view& news) {
  view_ = news;
  version_.reset();
}

void lost_work::on_joined(const member& who) {
  std::erase_if(losses_,
                [&](const loss& x) { return x.who.name == who.name && x.who.life == who.life; });
}

std::vector<size_t> lost_work::slices_of(const member& who) const {
  std::set<size_t> result;
  for (const auto& place : view_.replicas) {
    const auto& owner = view_.members[place.member];
    if (owner.name == who.name && owner.incarnation == who.incarnation)
      for (auto slice = place.slices.begin; slice < place.slices.end; ++slice)
        result.insert(slice);
  }
  return {result.begin(), result.end()};
}

void lost_work::on_lost(const member& who, moment now) {
  const auto heard = heard_.find(who.name);
  const bool had_view = heard != heard_.end() && heard->second == view_.id;
  heard_.erase(who.name);
  auto slices = slices_of(who);
  if (options_.attempts == 0 || who.life == 0 || slices.empty())
    return;
  losses_.push_back(
    {who, std::move(slices), now, view_.id, had_view || losses_.empty(), std::nullopt, {}});
}

void lost_work::on_report(const std::string& name, const view_number& has,
                          std::optional<uint64_t> left, std::optional<uint64_t> version) {
  heard_[name] = has;
  if (has != view_.id)
    return;
  for (auto& x : losses_)
    if (left && x.view < has && (!x.step || x.placed == has)) {
      x.step = std::max(x.step.value_or(0), *left);
      x.placed = has;
    }
  if (!version)
    return;
  version_ = std::max(version_.value_or(0), *version);
  std::erase_if(losses_, [&](const loss& x) { return x.step && *x.step < *version_; });
}

std::optional<std::pair<deadly_work, moment>> lost_work::suspect(bool is_open) const {
  std::set<uint64_t> steps;
  for (const auto& x : losses_)
    if (const auto step = x.step ? x.step : version_; step && x.counts)
      steps.insert(*step);
  const auto is_of = [&](const loss& x, uint64_t step) {
    return x.counts && (x.step ? *x.step == step : is_open || version_ == step);
  };
  for (const auto step : steps) {
    std::map<size_t, size_t> counts;
    std::pair<deadly_work, moment> result{{step, {}, {}}, {}};
    for (const auto& x : losses_) {
      if (!is_of(x, step))
        continue;
      for (const auto slice : x.slices)
        ++counts[slice];
      result.first.names.push_back(x.who.name);
      result.second = std::max(result.second, x.when);
    }
    for (const auto& [slice, count] : counts)
      if (count >= options_.attempts)
        result.first.slices.push_back(slice);
    if (!result.first.slices.empty())
      return result;
  }
  return std::nullopt;
}

bool lost_work::in_doubt(moment now) const {
  const auto found = suspect(true);
  return found && now < found->second + options_.patience;
}

std::optional<deadly_work> lost_work::verdict(moment now) const {
  if (in_doubt(now))
    return std::nullopt;
  auto found = suspect(false);
  return found ? std::optional{std::move(found->first)} : std::nullopt;
}

} // namespace troupe
