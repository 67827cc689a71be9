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

/// What the programs of python/tools ask of the command, so that they need no readers and writers of their own. A
/// question is words on standard input, each ended by a zero byte:
///
///   job FILE CHOICE...   name, keys and text of a job with the last of these choices of --set; all are checked. A choice
///                        is its number of texts, and the texts
///   draw KEY LOW HIGH COUNT SEED [log] [whole]
///                        as many texts of numbers between the two: functions of seed, key and number alone
///   runs FOLDER...       of each run the keys of its job, its number of checkpoints, and the digests of those of a
///                        version that several have: XXH3 of the parameters and of the optimizer's state
///   claim FOLDER         whether the folder of a search could be claimed
///   write FILE TEXT      writes a file whole or not at all
///
/// Prints the answer as one JSON object or array, failures included.
int serve_tool(const std::string& service);

} // namespace troupe
