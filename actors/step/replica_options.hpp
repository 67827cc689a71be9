// What the replicas of a process have in common.

#pragma once

#include "troupe/actors/base/test_hooks.hpp"
#include "troupe/actors/base/work_gauge.hpp"
#include "troupe/coordinators/parallel/pipeline_schedule.hpp"
#include "troupe/coordinators/step/timeline.hpp"
#include "troupe/data/training_rows/epoch_order.hpp"
#include "troupe/data/training_rows/prepare.hpp"
#include "troupe/models/base/buffer.hpp"
#include "troupe/models/network/model.hpp"

#include <cstdint>
#include <memory>

namespace troupe {

struct replica_options {
  std::shared_ptr<const model> network;
  std::shared_ptr<const prepared_data> data;
  std::shared_ptr<const epoch_order> order;
  std::shared_ptr<buffer_pool> gradients; ///< buffers of the model's size
  timeline plan;
  test_hooks hooks;
  uint64_t seed = 0;                      ///< of the job
  std::shared_ptr<work_gauge> gauge = {}; ///< each one's own; null: nobody judges its work
  pipeline_schedule schedule{};           ///< where several share a model
};

} // namespace troupe
