// A mode's trial: one mode of training where a parameter server owns all parameters, one seed. The seed draws
// how many trainers there are and how fast each is, who dies, whom views leave out and take up, and
// when; a bystander judges what the parameter server does (tests/support/server_oracle.hpp), and training
// must end: with every step done once, and rounds with the bits of the undisturbed run, federated
// ones with its clients, its void rounds and its losses in every round.

#pragma once

#include "tests/simulation/kept_company.hpp"

#include <map>
#include <string>
#include <vector>

namespace troupe::simulation {

struct mode_workload {
  std::string name;
  job what; ///< its replicas are drawn
};

/// Every mode, with the options that change who waits for whom or what is merged.
const std::vector<mode_workload>& mode_workloads();

/// What the undisturbed run came to.
struct mode_twin {
  std::vector<float> parameters;
  std::vector<history_row> history;
  client_totals clients; ///< of federated training
};

/// What is made once for a mode and used by all its trials.
struct prepared_mode {
  const mode_workload* what = nullptr;
  cluster_job trained;
  mode_twin twin; ///< of local and federated rounds
};

prepared_mode prepare(caf::actor_system& system, const mode_workload& what);

struct mode_report {
  std::vector<std::string> violations; ///< empty: all is well
  std::map<trainer_event::kind, size_t> counts;
  uint64_t staleness_max = 0;
  size_t messages = 0;
  duration virtual_time{0};
  uint64_t fingerprint = 0; ///< of what happened, and of the parameters it led to
};

mode_report run_trial(caf::actor_system& system, const prepared_mode& what, uint64_t seed,
                      const trace_sink& trace = {});

} // namespace troupe::simulation
