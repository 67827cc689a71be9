// A node of a cluster in the application's own process: `take_part` blocks until the run has ended,
// `networked_process` is the same in steps.
//
//   caf::actor_system_config config;
//   troupe::configure_node(config, plan.timeouts);     // instead of troupe::configure
//   caf::actor_system system{config};
//   const auto end = troupe::take_part(system, job, plan, "app");
//
// Threads: as `train`; callbacks come on the calling thread.
// Errors: `failure`: a plan, port or certificate that does not work, a director that is refused, lost or late.

#pragma once

#include "actors/net/names/find_coordinator.hpp"
#include "actors/net/names/networked_names.hpp"
#include "actors/net/process/networked_process.hpp"
#include "actors/net/process/take_part.hpp"
#include "troupe/train.hpp"
