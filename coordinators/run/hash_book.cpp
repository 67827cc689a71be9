#include "troupe/coordinators/run/hash_book.hpp"

#include <iterator>

namespace troupe {

bool hash_book::add(uint64_t version, const index_range& blocks, const version_hash& hash) {
  if (blocks.begin >= blocks.end || blocks.end > block_count_)
    return false;
  auto& parts = parts_[version];
  const auto next = parts.lower_bound(blocks.begin);
  if (next != parts.end() && next->first < blocks.end)
    return next->first == blocks.begin && next->second.end == blocks.end;
  if (next != parts.begin() && std::prev(next)->second.end > blocks.begin)
    return false;
  parts.emplace_hint(next, blocks.begin, part{blocks.end, hash});
  return true;
}

std::optional<version_hash> hash_book::hash_of(uint64_t version) const {
  const auto found = parts_.find(version);
  if (found == parts_.end())
    return std::nullopt;
  version_hash result;
  uint64_t known = 0;
  for (const auto& [first, one] : found->second) {
    result += one.hash;
    known += one.end - first;
  }
  return known == block_count_ ? std::optional{result} : std::nullopt;
}

} // namespace troupe
