#include "coordinators/clients/present_round.hpp"

#include "models/base/random.hpp"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

namespace troupe {

namespace {

uint64_t rank_of(uint64_t seed, uint64_t round, uint64_t key) {
  const random_sequence sequence{seed ^ key, random_purpose::invitation, round};
  const auto words = sequence.block(0);
  return uint64_t{words[0]} << 32 | words[1];
}

} // namespace

void present_round::open(uint64_t round, moment now, client_coin coin) {
  stage_ = stage::gathering;
  round_ = round;
  deadline_ = now + options_.round_time;
  coin_ = std::move(coin);
  ranked_.clear();
  invited_.clear();
  free_groups_.clear();
  next_ = counted_ = 0;
  is_hurried_ = false;
}

void present_round::begin(const client_names& here, moment now) {
  stage_ = stage::begun;
  deadline_ = now + options_.round_time;
  std::set<std::tuple<uint64_t, std::string>> ranks;
  for (const auto& [name, key] : here)
    if (!coin_ || coin_(key))
      ranks.emplace(rank_of(options_.seed, round_, key), name);
  for (const auto& [rank, name] : ranks)
    ranked_.push_back(name);
  asked_max_ = coin_ ? ranked_.size() : options_.invited_max;
}

std::vector<invitation> present_round::invite(const client_names& here, moment now) {
  if (stage_ == stage::gathering && !is_hurried_ &&
      (here.size() >= options_.invited_max ||
       (now >= deadline_ && here.size() >= options_.min_count)))
    begin(here, now);
  std::vector<invitation> result;
  if (stage_ != stage::begun)
    return result;
  while (next_ < ranked_.size() && counted_ + awaited() < asked_max_) {
    const auto& name = ranked_[next_++];
    if (!here.contains(name))
      continue; // lost since the round began
    auto& client = invited_[name];
    if (!free_groups_.empty()) {
      client.group = free_groups_.back();
      free_groups_.pop_back();
    } else {
      const auto place = invited_.size() - 1;
      client.group = options_.groups == 0 ? place : place % options_.groups;
    }
    result.push_back({name, client.group});
  }
  return result;
}

// A group whose client is lost goes to the next one. If the lost client comes back, the group has two.
void present_round::set_here(const std::string& name, bool is_here) {
  const auto found = invited_.find(name);
  if (found == invited_.end() || found->second.has_answered || found->second.is_here == is_here)
    return;
  found->second.is_here = is_here;
  const auto group = found->second.group;
  if (!is_here)
    free_groups_.push_back(group);
  else if (const auto at = std::ranges::find(free_groups_, group); at != free_groups_.end())
    free_groups_.erase(at);
}

std::optional<uint64_t> present_round::group_of(const std::string& name) const {
  const auto found = invited_.find(name);
  return stage_ != stage::begun || found == invited_.end() || found->second.has_answered
           ? std::nullopt
           : std::optional{found->second.group};
}

void present_round::on_update(const std::string& name, bool counts) {
  auto& client = invited_.at(name);
  client.has_answered = true;
  if (counts)
    ++counted_;
  else
    free_groups_.push_back(client.group);
}

size_t present_round::awaited() const {
  return static_cast<size_t>(std::ranges::count_if(
    invited_, [](const auto& x) { return x.second.is_here && !x.second.has_answered; }));
}

size_t present_round::missing() const {
  return static_cast<size_t>(
    std::ranges::count_if(invited_, [](const auto& x) { return !x.second.has_answered; }));
}

std::vector<std::string> present_round::lost(size_t count_max) const {
  std::vector<std::string> result;
  for (const auto& [name, client] : invited_)
    if (result.size() < count_max && !client.is_here && !client.has_answered)
      result.push_back(name);
  return result;
}

bool present_round::is_over(moment now) const {
  if (stage_ == stage::gathering)
    return is_hurried_ ||
           (coin_ ? has_waited_in_vain(now) : now >= deadline_); // `invite` did not begin it
  if (stage_ != stage::begun)
    return false;
  const bool is_full = !coin_ && counted_ >= options_.cohort;
  const bool is_exhausted =
    counted_ >= options_.min_count && awaited() == 0 && next_ == ranked_.size();
  return is_full || is_exhausted || now >= deadline_;
}

} // namespace troupe
