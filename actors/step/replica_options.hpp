// The options that all replicas of a process share.

#pragma once

#include "actors/base/job_rows.hpp"
#include "actors/base/test_hooks.hpp"
#include "actors/base/work_gauge.hpp"
#include "coordinators/parallel/grid.hpp"
#include "coordinators/step/timeline.hpp"
#include "data/records/run_recorder.hpp"
#include "models/base/buffer.hpp"
#include "models/base/number_format.hpp"
#include "models/network/model.hpp"

#include <memory>

namespace troupe {

struct replica_options {
  std::shared_ptr<const model> network;
  std::shared_ptr<const job_rows> rows;
  std::shared_ptr<buffer_pool> gradients; ///< buffers of the model's size
  timeline plan;
  test_hooks hooks;
  row_namer names = {};
  std::shared_ptr<work_gauge> gauge = {}; ///< one for each replica; null: its work is not watched
  std::shared_ptr<trace_ring> trace = {}; ///< likewise; null: no timeline is wanted
  pipeline_schedule schedule{};           ///< where several share a model
  bool by_segment = false;                ///< all slices' tiles of a segment, one after the other
  number_format exchange{};               ///< what each gradient and each sum is rounded to
};

} // namespace troupe
