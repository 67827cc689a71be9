// What `troupe launch` says at its end of the node that failed first: the reason of everything that
// came after it, and often hidden among it.

#pragma once

#include "coordinators/links/launch_rule.hpp"
#include "data/text/failure.hpp"

#include <deque>
#include <string>

namespace troupe {

struct failed_node {
  std::string name;
  process_end end;
  std::deque<std::string> last_lines;
};

/// "exit code 76 (mismatch)", "killed by signal 9 (Killed)".
std::string end_text(const process_end& end);

/// The same, and below it the last lines that the process wrote.
std::string end_and_lines(const process_end& end, const std::deque<std::string>& last_lines);

/// Lines for standard error; a warning when the run ended well without the node.
std::string failed_node_text(const failed_node& x, bool run_ended_well);

/// What became of a run whose director was killed, which had no time to say so itself. `exit_code`:
/// the run's; that of a stop signal says that whoever sent it did not wait for the result, that of
/// another failure that a node met it first.
failure killed_director(const process_end& end, int exit_code);

/// Whether a director that was stopped for another node's failure had no result: its object names
/// the stop, and the reason is the other's.
bool is_stop_before_a_result(const std::string& object);

} // namespace troupe
