// Clients' names as rows come that say whose they are, and their numbers in the end.

#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace troupe {

class client_finder {
public:
  /// The next row is this client's.
  void add(const std::string& name);

  /// The rows' clients, as numbers of the names sorted by bytes: they do not depend on the order of
  /// rows.
  void finish(std::vector<uint32_t>& clients, std::vector<std::string>& names) &&;

private:
  std::unordered_map<std::string, uint32_t> found_; ///< in order of appearance
  std::vector<uint32_t> rows_;
};

} // namespace troupe
