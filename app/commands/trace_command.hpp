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

struct trace_merge_arguments {
  std::vector<std::string> files;
  std::string output;
};

/// Merges the timelines of a run's processes into one, on the director's clock. Prints how exact it is.
int trace_merge_command(const trace_merge_arguments& arguments);

struct trace_show_arguments {
  std::string file;
  size_t records = 20; ///< of each actor
  bool json = false;
};

/// Prints what the actors of a process did last, by its flight recorder's file; with `json` one object,
/// with all that is there.
int trace_show_command(const trace_show_arguments& arguments);

struct trace_arguments {
  trace_merge_arguments merge;
  trace_show_arguments show;
};

/// Adds the command to `app`; what of it is called puts itself into `chosen`.
void add_trace(CLI::App& app, trace_arguments& x, std::function<int()>& chosen);

} // namespace troupe
