// The gate's options for a process of a cluster: the facts of its hello, the address it listens on,
// the nodes it dials. A running process has a gate (networked_process.hpp), and so has, for a
// moment, the director of a run that is already over.

#pragma once

#include "actors/net/carriers/carriers.hpp"
#include "actors/net/gate/gate_options.hpp"
#include "actors/net/process/networked_options.hpp"
#include "coordinators/base/moment.hpp"
#include "coordinators/membership/cluster_plan.hpp"

#include <memory>
#include <string>

namespace troupe {

class gate; // actors/net/gate/gate.hpp

/// The node of this name. Throws failure(bad_job) when there is none.
const cluster_node& node_of(const cluster_plan& plan, const std::string& own_name);

/// Throws failure(bad_job) unless names are unique and there is one director.
void expect_sound(const cluster_plan& plan);

/// The options with the plan for training: a job with a parameter server has all shards in one
/// place.
networked_options with_placed_server(networked_options options);

/// The gate's options; `process` is the actor system's name of this process. It dials those before it in the plan
/// (cluster_plan.hpp); one that no file lists the director alone, which tells it of the others.
gate_options gate_options_of(const std::string& process, const networked_options& x);

/// The options of the process's carriers; their own connections are dialled through its gate.
carrier_options carrier_options_of(const networked_options& x, const std::weak_ptr<gate>& door);

/// For a director that finds its run finished: refuses every other node of the plan that dials or
/// is dialled, with `how` as reason, so that none waits for the join timeout. Returns when all
/// nodes know (never where others may join), after `patience`, or when `stop_requested` returns true. Needs no actor system.
/// Throws failure as the constructor of `networked_process` does.
void tell_that_it_is_over(const networked_options& options, const std::string& how,
                          milliseconds patience);

} // namespace troupe
