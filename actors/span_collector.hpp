// Span collector: puts the spans of one version, which shards send one by one, together to whole
// parameters. In one process all spans of a version lie in one buffer already, each at its place:
// then that buffer is the result and nothing is copied. Spans from elsewhere are copied.

#pragma once

#include "troupe/actors/protocol/messages.hpp"

#include <cstddef>
#include <optional>
#include <vector>

namespace troupe {

class span_collector {
public:
  /// For the spans of `shards`, which together own all of `parameter_count` parameters.
  span_collector(const std::vector<shard_entry>& shards, size_t parameter_count);

  enum class verdict : uint8_t {
    accepted,
    damaged, ///< of another size than the shard's blocks, or changed on its way; nothing is taken
  };

  /// A shard's span; the same shard's second one replaces its first.
  verdict add(const parameter_span& part);

  /// The whole parameters once every shard's span is there.
  std::optional<const_buffer> whole() const;

private:
  /// The buffer that holds all spans at their places, if there is one.
  std::optional<const_buffer> common_storage() const;

  size_t parameter_count_;
  std::vector<index_range> elements_; ///< by shard
  std::vector<std::optional<payload>> parts_;
};

} // namespace troupe
