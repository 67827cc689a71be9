#include "actors/base/version_buffers.hpp"

#include "coordinators/step/placement.hpp"
#include "data/text/checksum.hpp"

#include <algorithm>
#include <cstring>

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

namespace {

// The hash must also change when blocks of different state vectors change places.
constexpr int vector_bits = 48;

hash_sum sum_of_blocks(size_t vector, size_t first_block, std::span<const float> values) {
  hash_sum result;
  for (auto block = first_block; !values.empty(); ++block) {
    const auto part = values.first(std::min(values.size(), block_size));
    const auto digest = checksum_of(std::as_bytes(part), uint64_t{vector} << vector_bits | block);
    hash_sum one;
    std::memcpy(&one, digest.data(), sizeof(one));
    result += one;
    values = values.subspan(part.size());
  }
  return result;
}

} // namespace

version_hash hash_of_blocks(size_t first_block, std::span<const float> parameters,
                            const std::vector<std::span<const float>>& state) {
  version_hash result{sum_of_blocks(0, first_block, parameters), {}};
  for (size_t i = 0; i < state.size(); ++i)
    result.state += sum_of_blocks(i, first_block, state[i]);
  return result;
}

span_hash whole_hash(uint64_t term, uint64_t version, const const_buffer& parameters) {
  return {
    term, version, {0, block_count(parameters.size())}, hash_of_blocks(0, parameters.values())};
}

} // namespace troupe
