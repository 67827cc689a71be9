// The parameters of each version, once for each process: all shards of a process write their spans
// of a version into one buffer, so replicas find a whole version in one place and nothing is
// copied.

#pragma once

#include "troupe/models/base/buffer.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

namespace troupe {

class version_buffers {
public:
  explicit version_buffers(size_t parameter_count)
    : version_buffers(std::make_shared<buffer_pool>(parameter_count)) {}
  /// With buffers from a pool that others use as well.
  explicit version_buffers(std::shared_ptr<buffer_pool> pool) : pool_(std::move(pool)) {}

  /// The buffer of `version`, made when first asked for. A shard that asks for v + 1 has seen every
  /// replica work on v, so no shard will ask for v - 1 again: it is let go. Thread-safe.
  buffer of(uint64_t version);

private:
  std::shared_ptr<buffer_pool> pool_;
  std::mutex mutex_;
  std::map<uint64_t, buffer> kept_;
};

} // namespace troupe
