// `troupe trace`: timelines that runs have written with --trace.

#pragma once

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

/// Adds the command to `app`; what of it is called puts itself into `chosen`.
void add_trace(CLI::App& app, trace_merge_arguments& x, std::function<int()>& chosen);

} // namespace troupe
