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

struct mutant {
  std::string name;
  std::string what;  ///< what it does wrong
  std::string why;   ///< why no run can tell, if so
  std::string stale; ///< the text that it edits and that is not there; empty: it is in force
  expectation expect = expectation::found;
  bool of_modes = false; ///< to be found in the modes that a keeper serves, not in clusters
};

/// All of them. `mutant_in_force` is an index in this list.
const std::vector<mutant>& mutants();

} // namespace troupe::simulation
