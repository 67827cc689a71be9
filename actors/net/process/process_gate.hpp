// The gate of a process of a cluster: what it says of itself, where it listens, whom it dials. A
// running process has one (networked_process.hpp), and so has, for a moment, the director of a run
// that turns out to be over.

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

/// The same with the plan that the job is trained by: one with a parameter server has all shards in one
/// place.
networked_options with_placed_server(networked_options options);

/// For the process that the actor system calls `process`. The later one of the plan dials the
/// earlier one. Who comes before the director asks it all the same whether anything differs: with
/// files in different orders each could wait for the other to dial.
gate_options gate_options_of(const std::string& process, const networked_options& x);

/// How the process's carriers come about; connections of their own are dialled through its gate.
carrier_options carrier_options_of(const networked_options& x, const std::weak_ptr<gate>& door);

/// For a director that finds its run finished: tells every other node of the plan who dials, or is
/// dialled, that there is nothing to do (`how`, in words), so that none waits for the join timeout.
/// Returns when all were told, after `patience`, or when it is asked to stop. Needs no actor
/// system. Throws failure as the constructor of `networked_process` does.
void tell_that_it_is_over(const networked_options& options, const std::string& how,
                          milliseconds patience);

} // namespace troupe
