#include "troupe/data/table/client_names.hpp"

#include <algorithm>
#include <utility>

namespace troupe {

void client_finder::add(const std::string& name) {
  rows_.push_back(found_.try_emplace(name, static_cast<uint32_t>(found_.size())).first->second);
}

void client_finder::finish(std::vector<uint32_t>& clients, std::vector<std::string>& names) && {
  std::vector<std::pair<std::string, uint32_t>> sorted(found_.begin(), found_.end());
  std::ranges::sort(sorted);
  std::vector<uint32_t> number(sorted.size());
  names.clear();
  for (auto& [name, appeared] : sorted) {
    number[appeared] = static_cast<uint32_t>(names.size());
    names.push_back(std::move(name));
  }
  clients = std::move(rows_);
  for (auto& client : clients)
    client = number[client];
}

} // namespace troupe
