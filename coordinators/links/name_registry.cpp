#include "coordinators/links/name_registry.hpp"

namespace troupe {

name_registry::advice name_registry::on_candidate(const std::string& name,
                                                  const process_identity& who, uint64_t ticket) {
  const auto [place, is_new] = entries_.try_emplace(name, entry{ticket, who, phase::promised, {}});
  const auto& holder = place->second;
  if (is_new)
    return advice::let_in;
  if (holder.at == phase::promised) // its gate still has the connection, and gives it up in time
    return advice::later;
  if (holder.who == who)
    return advice::replace;
  return holder.at == phase::held ? advice::ask_holder : advice::later;
}

bool name_registry::on_opened(const std::string& name, const process_identity& who, uint64_t ticket,
                              moment now) {
  auto& x = entries_.try_emplace(name, entry{ticket, who, phase::promised, {}}).first->second;
  if (x.ticket != ticket)
    return false;
  x.at = phase::opened;
  x.due = now + deadline_;
  return true;
}

bool name_registry::on_introduced(const std::string& name, uint64_t ticket) {
  const auto found = entries_.find(name);
  if (found == entries_.end() || found->second.ticket != ticket)
    return false;
  found->second.at = phase::held;
  return true;
}

std::vector<uint64_t> name_registry::overdue(moment now) const {
  std::vector<uint64_t> result;
  for (const auto& [name, x] : entries_)
    if (x.at == phase::opened && x.due <= now)
      result.push_back(x.ticket);
  return result;
}

void name_registry::on_withdrawn(uint64_t ticket) {
  std::erase_if(entries_, [&](const auto& x) {
    return x.second.ticket == ticket && x.second.at != phase::held;
  });
}

} // namespace troupe
