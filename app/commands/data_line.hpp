// The command lines of `troupe init` and `troupe data`.

#pragma once

#include "troupe/app/commands/data_command.hpp"
#include "troupe/app/commands/init_command.hpp"

#include <functional>

namespace CLI {
class App;
}

namespace troupe {

/// What was given.
struct data_line {
  convert_arguments convert;
  split_arguments split;
  init_arguments init;
  std::string file;
  bool json = false;
  bool quiet = false;
};

/// Adds the commands to `app`; the one that is called puts itself into `chosen`.
void add_data(CLI::App& app, data_line& x, std::function<int()>& chosen);

} // namespace troupe
