// What each whole number of a job may be. The one table of bounds: reading files, checking a job
// that an application filled, and the documentation follow it.
//
// The upper bounds are no advice. They keep a slip of the finger (a zero too many, a number of
// bytes) from becoming hours of silence or an overflow; within them every product that Troupe
// computes fits 64 bits. What a machine has no memory for is refused apart
// (coordinators/job/memory_need.hpp).

#pragma once

#include "troupe/coordinators/job/job_problem.hpp"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace troupe {

struct whole_bounds {
  std::string_view key; ///< as a job file spells it
  uint64_t least = 0;
  uint64_t most = std::numeric_limits<uint64_t>::max(); ///< the largest number: no bound
};

/// The bounds of the key. Throws std::invalid_argument for one that is not in the table.
const whole_bounds& bounds_of(std::string_view key);

/// "from 1 to 1024", or "of at least 0" where there is no upper bound.
std::string bounds_text(const whole_bounds& bounds);

/// Why the value is no value for the key; nothing when it is.
std::optional<job_problem> bounds_problem(std::string_view key, uint64_t value);

/// Collects problems; each check reads as one line of a specification. Views, as most checks hold.
class problem_list {
public:
  void require(bool holds, std::string_view key, std::string_view why, std::string_view hint) {
    if (!holds)
      found.push_back({std::string{key}, std::string{why}, std::string{hint}});
  }

  void in_bounds(std::string_view key, std::optional<uint64_t> value) {
    if (auto problem = value ? bounds_problem(key, *value) : std::nullopt)
      found.push_back(std::move(*problem));
  }

  std::vector<job_problem> found;
};

/// Nodes of a cluster: each links with every other one, and says so once a second.
inline constexpr size_t node_count_max = 1'024;

/// Hidden layers of a network: far more than train without connections that skip some.
inline constexpr size_t hidden_layers_max = 1'000;

} // namespace troupe
