#include "coordinators/membership/outsiders.hpp"

#include <utility>

namespace troupe {

void outsiders::on_lost(const std::string& name, uint64_t incarnation) {
  std::erase_if(those_, [&](const auto& entry) {
    return entry.first == name && entry.second.who.incarnation == incarnation;
  });
  hung_.erase(name);
}

void outsiders::on_fitness(const std::string& name, const fitness& news) {
  if (news.hangs)
    hung_.insert(name);
  else
    hung_.erase(name);
  if (const auto found = those_.find(name); found != those_.end())
    found->second.linked = {news.linked.begin(), news.linked.end()};
}

std::vector<std::string> outsiders::missing_links(const outsider& one,
                                                  const std::vector<std::string>& members) const {
  std::vector<std::string> result;
  if (links_first_)
    std::ranges::copy_if(members, std::back_inserter(result),
                         [&](const std::string& name) { return !one.linked.contains(name); });
  return result;
}

std::optional<member> outsiders::admit(const std::vector<std::string>& members, bool is_needed,
                                       moment now) {
  const auto found = std::ranges::find_if(those_, [&](const auto& entry) {
    const auto& [name, one] = entry;
    return may_join(name, now) &&
           ((is_needed && now - one.since >= patience_) || missing_links(one, members).empty());
  });
  if (found == those_.end())
    return std::nullopt;
  auto result = std::move(found->second.who);
  those_.erase(found);
  return result;
}

std::vector<unlinked_process> outsiders::newly_unlinked(const std::vector<std::string>& members,
                                                        moment now) {
  std::vector<unlinked_process> result;
  for (auto& [name, one] : those_)
    if (may_join(name, now) && now - one.since >= patience_ && !std::exchange(one.is_named, true))
      result.push_back({name, missing_links(one, members)});
  return result;
}

} // namespace troupe
