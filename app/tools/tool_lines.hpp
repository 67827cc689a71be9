// The command lines of the commands that are Python programs (python/tools), and what these ask of the command.

#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace troupe {

/// What the parser writes into. The programs are given the words themselves.
struct tool_line {
  std::vector<std::string> texts;
  std::string text;
  uint64_t number = 0;
  bool flag = false;
  std::string service;
};

/// Adds a command to `app`; when it is called it puts itself into `chosen`.
void add_compare(CLI::App& app, tool_line& x, std::function<int()>& chosen);
void add_sweep(CLI::App& app, tool_line& x, std::function<int()>& chosen);
/// `troupe serve-tools`, which no help shows.
void add_tool_services(CLI::App& app, tool_line& x, std::function<int()>& chosen);

} // namespace troupe
