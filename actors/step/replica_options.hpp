// What the replicas of a process have in common.

#pragma once

#include "troupe/actors/base/job_rows.hpp"
#include "troupe/actors/base/test_hooks.hpp"
#include "troupe/actors/base/work_gauge.hpp"
#include "troupe/coordinators/parallel/pipeline_schedule.hpp"
#include "troupe/coordinators/step/timeline.hpp"
#include "troupe/data/records/run_recorder.hpp"
#include "troupe/models/base/buffer.hpp"
#include "troupe/models/base/number_format.hpp"
#include "troupe/models/network/model.hpp"

#include <cstdint>
#include <memory>

namespace troupe {

struct replica_options {
  std::shared_ptr<const model> network;
  std::shared_ptr<const job_rows> rows;
  std::shared_ptr<buffer_pool> gradients; ///< buffers of the model's size
  timeline plan;
  test_hooks hooks;
  row_namer names = {};
  std::shared_ptr<work_gauge> gauge = {}; ///< each one's own; null: nobody judges its work
  std::shared_ptr<trace_ring> trace = {}; ///< likewise; null: no timeline is wanted
  pipeline_schedule schedule{};           ///< where several share a model
  bool by_segment = false;                ///< all slices' tiles of a segment, one after the other
  number_format exchange{};               ///< what each gradient and each sum is rounded to
};

} // namespace troupe
