#include "troupe/data/formats/libsvm/entry_list.hpp"

#include "troupe/models/base/large_pages.hpp"

#include <algorithm>
#include <utility>

namespace troupe {

namespace {

/// 2 MB: large enough to be given back to the system at once.
constexpr size_t block_entries = size_t{1} << 18;

} // namespace

void entry_list::add(std::span<const libsvm_entry> row) {
  size_ += row.size();
  while (!row.empty()) {
    if (blocks_.empty() || blocks_.back().size() == block_entries) {
      blocks_.emplace_back();
      if (blocks_.size() > 1) // small files need little
        blocks_.back().reserve(block_entries);
    }
    auto& block = blocks_.back();
    const auto some = row.first(std::min(row.size(), block_entries - block.size()));
    block.insert(block.end(), some.begin(), some.end());
    row = row.subspan(some.size());
  }
}

sparse_matrix entry_list::take(std::vector<uint64_t> starts) {
  sparse_matrix result;
  result.starts = std::move(starts);
  reserve_large(result.features, size_);
  reserve_large(result.values, size_);
  for (auto& block : blocks_) {
    for (const auto& entry : block) {
      result.features.push_back(entry.feature);
      result.values.push_back(entry.value);
    }
    block = {};
  }
  blocks_.clear();
  size_ = 0;
  return result;
}

} // namespace troupe
