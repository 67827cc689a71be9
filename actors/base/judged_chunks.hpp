// A chunk of an evaluation, judged by a model and by the job's metrics. One for replicas, trainers and
// solvers.

#pragma once

#include "troupe/actors/protocol/messages.hpp"
#include "troupe/models/metrics/metric_set.hpp"

namespace troupe {

/// Adds the sums of the next chunk, of these rows, to `out`.
inline void add_chunk(evaluation& out, const model& network, const metric_set& metrics,
                      std::span<const float> parameters, const batch& rows, workspace& memory) {
  out.chunks.push_back(network.evaluate(parameters, rows, memory));
  if (!metrics.empty())
    out.metrics.push_back(metrics.judge(network, parameters, rows, memory));
}

} // namespace troupe
