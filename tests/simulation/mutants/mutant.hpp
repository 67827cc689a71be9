// The table of mutants: deliberate bugs, each of which some seed must find. They are described,
// with their edits, in mutants.toml.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace troupe::simulation {

enum class expectation : uint8_t {
  found,  ///< by few seeds
  rare,   ///< by many only
  unseen, ///< by none: `why` says why
};

/// Which runs are to find it.
enum class trial_kind : uint8_t {
  clients,    ///< rounds of clients that dial in, and of their server
  clusters,   ///< synchronous ones
  federated,  ///< federated rounds over several processes
  home,       ///< processes with rows of their own
  kept,       ///< a parameter server, and trainers of other processes
  notice,     ///< processes that are asked to end
  modes,      ///< a parameter server and its trainers in one process
  partitions, ///< groups of replicas that share a model, by themselves
  privacy,    ///< lives of a private run on one ledger
  spans,      ///< a parameter server, and owners of spans in other processes
  split,      ///< such groups over several processes
  tiles,      ///< walks of the tile rule
};

struct mutant {
  std::string name;
  std::string what;  ///< what it does wrong
  std::string why;   ///< why no run can tell, if so
  std::string stale; ///< the text that it edits and that is not there; empty: it is in force
  expectation expect = expectation::found;
  trial_kind of = trial_kind::clusters;
};

/// All of them. `mutant_in_force` is an index in this list.
const std::vector<mutant>& mutants();

} // namespace troupe::simulation
