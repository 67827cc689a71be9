#include "troupe/actors/base/version_buffers.hpp"

namespace troupe {

buffer version_buffers::of(uint64_t version) {
  std::lock_guard guard{mutex_};
  if (const auto found = kept_.find(version); found != kept_.end())
    return found->second;
  if (version > 0)
    kept_.erase(kept_.begin(), kept_.lower_bound(version - 1));
  return kept_.emplace(version, pool_->acquire()).first->second;
}

} // namespace troupe
