// A trial: one workload, one seed. The faults that the seed draws befall the cluster, the world
// heals, and training must end as the twin's did.
//
// Somebody looks after the cluster, as people do: starts a director that died, gives a disk that is
// full more room, and when every checkpoint is lost starts the run anew.

#pragma once

#include "tests/simulation/oracle.hpp"
#include "tests/simulation/workload.hpp"

#include <array>
#include <string>
#include <vector>

namespace troupe::simulation {

/// What is made once for a workload and used by all its trials.
struct prepared_workload {
  const workload* what = nullptr;
  cluster_job trained;
  timeline plan;
  size_t parameter_count = 0;
  twin reference;
};

/// Runs the twin. Throws std::runtime_error when it does not end well.
prepared_workload prepare(caf::actor_system& system, const workload& what);

struct trial_report {
  std::vector<std::string> violations; ///< empty: all is well
  std::array<size_t, fault_kind_count> fired{};
  size_t view_changes = 0;
  size_t roll_backs = 0;
  size_t messages = 0;
  duration virtual_time{0};
  uint64_t fingerprint = 0;
};

struct trial_options {
  uint64_t seed = 0;
  trace_sink trace;
  bool pieces_apart = false; ///< wire_options has it
  bool has_notices = false;  ///< every second seed has nothing else
};

trial_report run_trial(caf::actor_system& system, const prepared_workload& what,
                       const trial_options& options);

} // namespace troupe::simulation
