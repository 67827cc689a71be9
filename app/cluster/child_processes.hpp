// Processes that this one starts. Their output comes through here line by line, with the writer's
// name in front. No child outlives this process, however it ends.
//
//   main    | Epoch 1/20  22/22 ...
//   worker  | linked with main
//
// The launch rule (coordinators/links/launch_rule.hpp) decides what to do about an end or a signal.

#pragma once

#include "coordinators/base/moment.hpp"
#include "coordinators/links/launch_rule.hpp"
#include "data/text/failure.hpp"

#include <cstddef>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <sys/types.h>

namespace troupe {

/// How lines are marked with the name of their writer.
struct line_marks {
  size_t width = 0;    ///< of the longest name
  bool colour = false; ///< each name in a colour of its own
};

struct child_options {
  std::string name;
  std::vector<std::string> arguments; ///< the program's path first
  std::vector<int> inherited;         ///< descriptors that stay open in the child
  /// Where its standard output goes; -1: what it writes there is output as any other.
  int standard_output = -1;
};

class child_processes {
public:
  using line_sink = std::function<void(const std::string&)>;

  /// `print` is given whole lines, line break included. From now on SIGINT, SIGTERM and SIGCHLD are
  /// this object's; one object at a time.
  child_processes(line_marks marks, line_sink print);
  /// Kills the children that are left, and waits for their end.
  ~child_processes();
  child_processes(const child_processes&) = delete;
  child_processes& operator=(const child_processes&) = delete;

  /// Starts a child in a process group of its own, without standard input. The kernel kills it when
  /// the calling thread ends. A program that cannot be run shows as exit code 127.
  ///
  /// Throws failure(internal) when there can be no further process.
  void start(child_options options);

  struct news {
    std::vector<std::pair<size_t, process_end>> ended; ///< by order of start; their output is done
    std::vector<int> stop_signals;                     ///< SIGINT and SIGTERM that came
  };
  /// Passes output on until there are news, or it is `until`; then they may be empty.
  news wait(std::optional<moment> until);

  /// To the child and all processes it started; nothing happens when it has ended.
  void send(const launch_action& action);

  const std::string& name(size_t index) const { return children_[index].name; }
  pid_t process_id(size_t index) const { return children_[index].id; }
  /// The child's last lines, without marks: at most ten.
  const std::deque<std::string>& last_lines(size_t index) const {
    return children_[index].last_lines;
  }

private:
  struct child {
    std::string name;
    pid_t id = 0;
    int output = -1; ///< read end of its pipe; -1: closed
    bool ended = false;
    std::string open_line;
    std::deque<std::string> last_lines;
  };

  void poll_once(int timeout_ms);
  bool read_output(child& x);
  void take_output(child& x, const char* text, size_t size);
  void drain(child& x);
  void print_line(child& x);
  void collect_signals(news& out);
  void collect_ends(news& out);
  std::string mark(const child& x) const;

  line_marks marks_;
  line_sink print_;
  std::vector<child> children_;
};

// What `troupe launch` says at its end of the node that failed first. Its failure caused all later
// ones, and often hides among them.

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

/// What became of a run whose director was killed before it could say so. `exit_code` is the run's.
/// That of a stop signal means that its sender did not wait for the result; that of another
/// failure, that a node failed first.
failure killed_director(const process_end& end, int exit_code);

/// Whether a director that was stopped for another node's failure had no result. Its object then
/// names the stop, and not that node's reason.
bool is_stop_before_a_result(const std::string& object);

} // namespace troupe
