// Span start: what an owner of a span begins a term with, in the modes with a parameter server: the initial parameters of
// its elements, or those of a checkpoint with the state beside them.

#pragma once

#include "actors/base/version_buffers.hpp"
#include "actors/protocol/cluster_messages.hpp"
#include "coordinators/modes/span_model.hpp"
#include "models/base/saved_state.hpp"

#include <functional>
#include <memory>
#include <optional>

namespace troupe {

/// Makes the span model of these elements, from their parameters.
using span_maker =
  std::function<std::unique_ptr<span_model>(const const_buffer&, const index_range& elements)>;

/// The state of a checkpoint that a span goes on from: empty vectors for the initial one. Nothing if it has another shape.
std::optional<saved_state> saved_span_of(const shard_start& start, const index_range& elements,
                                         const state_shape& saved);
/// The parameters of these elements that it begins with.
const_buffer first_parameters(const shard_start& start, uint64_t version,
                              const index_range& elements);
/// The elements of the owner that the view is sent to. Without shards, in tests of one actor: all.
index_range own_elements(const view& at, size_t parameter_count);

} // namespace troupe
