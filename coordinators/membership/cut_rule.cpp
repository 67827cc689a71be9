#include "coordinators/membership/cut_rule.hpp"

#include "coordinators/exchange/tensor_name.hpp"

#include <algorithm>
#include <utility>

namespace troupe {

namespace {

size_t owner_count(const cluster_view& view) {
  std::set<size_t> owners;
  for (const auto& place : view.shards)
    if (!place.blocks.empty())
      owners.insert(place.member);
  return owners.size();
}

/// Its link may have been lost meanwhile.
bool is_same_life(const member& a, const member& b) {
  return a.incarnation == b.incarnation || (a.life == b.life && a.life > 0);
}

} // namespace

// An owner of p of P parameters sends about 2 (P - p) elements a step, and (1 + slots) p to each deputy with a copy.
void plan_copies(cluster_view& view, const copy_options& options) {
  const auto owners = owner_count(view);
  view.deputies = owners > 1 ? std::min(options.deputies, owners - 1) : 0;
  view.copy_every = 0;
  if (view.deputies == 0)
    return;
  const auto tenths = 10 * view.deputies * (1 + options.slot_count);
  view.copy_every = options.every > 0 ? options.every : (tenths + owners - 2) / (owners - 1);
}

std::vector<size_t> deputies_of(const cluster_view& view, size_t shard) {
  std::vector<size_t> result;
  const auto count = view.shards.size();
  for (size_t k = 1; k < count && result.size() < view.deputies; ++k) {
    const auto& place = view.shards[(shard + k) % count];
    if (!place.blocks.empty() && place.member != view.shards[shard].member &&
        std::ranges::find(result, place.member) == result.end())
      result.push_back(place.member);
  }
  return result;
}

std::optional<uint64_t> next_copy(const cluster_view& view, uint64_t version) {
  if (view.copy_every == 0)
    return std::nullopt;
  return (version / view.copy_every + 1) * view.copy_every;
}

// Where a version is whole, all owners have announced it. So they have copied the last version due before, and the copy
// before that is at their deputies.
uint64_t copies_needed_from(const cluster_view& view, uint64_t whole_version) {
  if (view.copy_every == 0)
    return whole_version > view.start_version ? whole_version : 0;
  const auto last = whole_version / view.copy_every * view.copy_every;
  return last <= view.start_version ? 0 : std::max(last - view.copy_every, view.start_version);
}

std::optional<cut> newest_cut(const std::vector<std::vector<held_copy>>& members,
                              size_t block_count, const index_range& allowed) {
  std::set<uint64_t, std::greater<>> versions;
  for (const auto& held : members)
    for (const auto& copy : held)
      if (allowed.begin <= copy.version && copy.version < allowed.end)
        versions.insert(copy.version);
  for (const auto version : versions) {
    cut result{version, {}};
    span_set here;
    for (size_t m = 0; m < members.size(); ++m)
      for (const auto& copy : members[m])
        if (copy.version == version)
          for (const auto& blocks : copy.blocks)
            for (const auto& gap : here.missing_in(shared_part(blocks, {0, block_count}))) {
              result.holders.push_back({m, gap});
              here.add(gap);
            }
    if (here.contains({0, block_count}))
      return result;
  }
  return std::nullopt;
}

void cut_question::on_answer(const std::string& name, const held_copies& what) {
  const bool is_asked = answers_.contains(name) || missing_.contains(name);
  if (what.term != term_ || !is_asked || what.copies.size() > copies_max)
    return;
  missing_.erase(name);
  answers_[name] = what.copies;
}

void cut_question::on_lost(const std::string& name) {
  missing_.erase(name);
  answers_.erase(name);
}

std::vector<std::string> cut_question::due(const std::optional<cluster_view>& last,
                                           const std::vector<member>& members, uint64_t term,
                                           bool waits, moment now) {
  if (!last || (last->copy_every == 0 && !waits && term != term_))
    return {};
  if (term != term_) {
    *this = {};
    term_ = term;
    since_ = now;
    for (const auto& who : members)
      if (const auto place = last->find(who.name);
          place && is_same_life(last->members[*place], who))
        missing_.insert(who.name);
  }
  waits_ = waits;
  if (is_over(now) || (asked_ && now - *asked_ < again))
    return {};
  asked_ = now;
  return {missing_.begin(), missing_.end()};
}

std::vector<std::vector<held_copy>>
cut_question::answers_of(const std::vector<member>& members) const {
  std::vector<std::vector<held_copy>> result;
  for (const auto& who : members) {
    const auto found = answers_.find(who.name);
    result.push_back(found == answers_.end() ? std::vector<held_copy>{} : found->second);
  }
  return result;
}

} // namespace troupe
