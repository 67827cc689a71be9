// `troupe trace`: timelines that runs have written with --trace, and what flight recorders hold.

#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace troupe {

struct trace_arguments {
  std::vector<std::string> files; ///< timelines to merge
  std::string output;
  std::string flight;  ///< a flight recorder's file, to show
  size_t records = 20; ///< of each actor
  bool json = false;
};

/// Adds the command to `app`; what of it is called puts itself into `chosen`: it merges the timelines of a run's
/// processes into one, on the director's clock, and prints how exact it is; or prints what the actors of a
/// process did last, with `json` one object with all that is there.
void add_trace(CLI::App& app, trace_arguments& x, std::function<int()>& chosen);

} // namespace troupe
