// The parameters of each version, one buffer for each process. All shards of a process write their spans into it, so
// replicas find a whole version in one place, without a copy. Where models are split, buffers hold only the elements
// that this process computes with or owns.

#pragma once

#include "actors/protocol/messages.hpp"
#include "coordinators/exchange/arriving_tensor.hpp"
#include "models/base/buffer.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

namespace troupe {

class version_buffers {
public:
  explicit version_buffers(size_t parameter_count)
    : version_buffers(std::make_shared<buffer_pool>(parameter_count)) {}
  /// With buffers from a shared pool.
  explicit version_buffers(std::shared_ptr<buffer_pool> pool)
    : whole_(std::move(pool)), pool_(whole_) {}

  /// Buffers hold these elements from now on; null: all. Drops older buffers; actors that hold one may still use it.
  void set_window(std::shared_ptr<const element_window> window);
  std::shared_ptr<const element_window> window() const;

  /// The buffer of `version`, made when first asked for. A shard that asks for v + 1 has seen every replica work on v.
  /// So no shard will ask for v - 1 again, and its buffer is dropped. Thread-safe.
  float_window at(uint64_t version);
  buffer of(uint64_t version) { return at(version).storage; }

private:
  std::shared_ptr<buffer_pool> whole_; ///< of all elements
  std::shared_ptr<buffer_pool> pool_;  ///< of the window's
  mutable std::mutex mutex_;
  std::shared_ptr<const element_window> window_; ///< null: all elements
  std::map<uint64_t, buffer> kept_;
};

// The hash of some blocks of a version, from their owner (models/base/version_hash.hpp).

/// The hash of the blocks (coordinators/step/placement.hpp) from `first_block` on. `parameters` and each vector of
/// `state` have the same elements; the last block may be short.
version_hash hash_of_blocks(size_t first_block, std::span<const float> parameters,
                            const std::vector<std::span<const float>>& state = {});

/// The report to the director of an actor that owns a whole version.
span_hash whole_hash(uint64_t term, uint64_t version, const const_buffer& parameters);

} // namespace troupe
