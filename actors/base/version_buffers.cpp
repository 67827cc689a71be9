#include "actors/base/version_buffers.hpp"

namespace troupe {

void version_buffers::set_window(std::shared_ptr<const element_window> window) {
  std::lock_guard guard{mutex_};
  window_ = std::move(window);
  pool_ = window_ ? std::make_shared<buffer_pool>(window_->size()) : whole_;
  kept_.clear();
}

std::shared_ptr<const element_window> version_buffers::window() const {
  std::lock_guard guard{mutex_};
  return window_;
}

float_window version_buffers::at(uint64_t version) {
  std::lock_guard guard{mutex_};
  if (const auto found = kept_.find(version); found != kept_.end())
    return {found->second, 0, window_};
  if (version > 0)
    kept_.erase(kept_.begin(), kept_.lower_bound(version - 1));
  return {kept_.emplace(version, pool_->acquire()).first->second, 0, window_};
}

} // namespace troupe
