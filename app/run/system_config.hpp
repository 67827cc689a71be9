// The settings of the actor system that the command makes for a run.

#pragma once

#include "troupe/coordinators/job/job.hpp"
#include "troupe/coordinators/membership/cluster_plan.hpp"

#include <caf/actor_system_config.hpp>

namespace troupe {

class system_config : public caf::actor_system_config {
public:
  /// Of a run in this process alone.
  explicit system_config(const runtime_options& options);
  /// Of a node of a cluster.
  system_config(const runtime_options& options, const cluster_timeouts& timeouts);

private:
  void set_runtime(const runtime_options& options);
};

} // namespace troupe
