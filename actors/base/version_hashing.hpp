// The hash of some blocks of a version, as whoever owns them tells it (models/base/version_hash.hpp).

#pragma once

#include "actors/protocol/messages.hpp"

#include <cstddef>
#include <span>
#include <vector>

namespace troupe {

/// Of the blocks (coordinators/step/placement.hpp) from `first_block` on. `parameters` and each vector of
/// `state` are of the same elements; the last block may be short.
version_hash hash_of_blocks(size_t first_block, std::span<const float> parameters,
                            const std::vector<std::span<const float>>& state = {});

/// For the director, from whoever owns a whole version.
span_hash whole_hash(uint64_t term, uint64_t version, const const_buffer& parameters);

} // namespace troupe
