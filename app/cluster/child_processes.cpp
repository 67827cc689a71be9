#include "app/cluster/child_processes.hpp"

#include "app/run/signals.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace troupe {

namespace {

constexpr size_t lines_kept = 10;
constexpr size_t line_bytes_max = 1u << 16; // of an unfinished line: longer ones are broken
constexpr std::array<const char*, 6> colours{"36", "33", "32", "35", "34", "31"};

// Signals become bytes in a pipe, so that one poll waits for them and for output. A signal may find
// any thread of the process; its handler does nothing else.
int signal_pipe[2] = {-1, -1};

std::array<struct sigaction, stop_signals.size()> handlers_before;
struct sigaction child_handler_before;

void on_signal(int number) {
  const int error = errno;
  const auto byte = static_cast<unsigned char>(number);
  if (write(signal_pipe[1], &byte, 1) < 0) {
    // Full of signals that are not read yet: one more makes no difference.
  }
  errno = error;
}

void watch_signals() {
  if (pipe2(signal_pipe, O_CLOEXEC | O_NONBLOCK) != 0)
    throw failure(failure_code::internal,
                  std::string{"cannot make a pipe: "} + std::strerror(errno));
  struct sigaction action {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  for (size_t i = 0; i < stop_signals.size(); ++i)
    handle_unless_ignored(stop_signals[i], action, &handlers_before[i]);
  sigaction(SIGCHLD, &action, &child_handler_before);
}

void forget_signals() {
  for (size_t i = 0; i < stop_signals.size(); ++i)
    sigaction(stop_signals[i], &handlers_before[i], nullptr);
  sigaction(SIGCHLD, &child_handler_before, nullptr);
  for (int& end : signal_pipe)
    close(std::exchange(end, -1));
}

// What the child needs, made before the fork: between fork and exec little is allowed.
struct start_plan {
  std::vector<char*> arguments; // ends with null
  const std::vector<int>& inherited;
  int output;
  int standard_output;
  pid_t parent;
};

void write_text(const char* text) {
  if (write(STDERR_FILENO, text, std::strlen(text)) < 0)
    return; // standard error is gone too
}

[[noreturn]] void become_child(const start_plan& plan) {
  // A group of its own: Ctrl-C on the terminal reaches the parent alone, which knows whom to signal.
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != plan.parent) // it died before the line above
    _exit(127);
  for (size_t i = 0; i < stop_signals.size(); ++i)
    if (stops_in_any_case(stop_signals[i]) || handlers_before[i].sa_handler != SIG_IGN)
      std::signal(stop_signals[i], SIG_DFL);
  for (const int number : {SIGCHLD, SIGPIPE, SIGXFSZ})
    std::signal(number, SIG_DFL);
  const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
  dup2(nothing, STDIN_FILENO);
  dup2(plan.standard_output < 0 ? plan.output : plan.standard_output, STDOUT_FILENO);
  dup2(plan.output, STDERR_FILENO);
  for (const int descriptor : plan.inherited)
    fcntl(descriptor, F_SETFD, 0);
  execv(plan.arguments.front(), plan.arguments.data());
  write_text("cannot run ");
  write_text(plan.arguments.front());
  write_text("\n");
  _exit(127);
}

[[noreturn]] void cannot_start(const std::string& name) {
  throw failure(failure_code::internal,
                std::string{"cannot start a process: "} + std::strerror(errno), name,
                "is there a limit on processes or open files?");
}

} // namespace

child_processes::child_processes(line_marks marks, line_sink print)
  : marks_(marks), print_(std::move(print)) {
  watch_signals();
}

child_processes::~child_processes() {
  for (size_t i = 0; i < children_.size(); ++i)
    send({i, SIGKILL});
  for (auto& x : children_) {
    if (!x.ended)
      waitpid(x.id, nullptr, 0);
    if (x.output >= 0)
      close(x.output);
  }
  forget_signals();
}

void child_processes::start(child_options options) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0)
    cannot_start(options.name);
  start_plan plan{{}, options.inherited, ends[1], options.standard_output, getpid()};
  for (auto& argument : options.arguments)
    plan.arguments.push_back(argument.data());
  plan.arguments.push_back(nullptr);
  const pid_t id = fork();
  if (id == 0)
    become_child(plan);
  close(ends[1]);
  if (id < 0) {
    close(ends[0]);
    cannot_start(options.name);
  }
  setpgid(id, id); // the child does it too: a signal may be sent right after this
  fcntl(ends[0], F_SETFL, O_NONBLOCK);
  children_.push_back({std::move(options.name), id, ends[0], false, {}, {}});
}

child_processes::news child_processes::wait(std::optional<moment> until) {
  news result;
  for (;;) {
    collect_signals(result);
    collect_ends(result);
    if (!result.ended.empty() || !result.stop_signals.empty())
      return result;
    const auto left =
      until ? std::chrono::ceil<milliseconds>(*until - moment::clock::now()) : milliseconds{-1};
    if (until && left <= milliseconds{0})
      return result;
    poll_once(static_cast<int>(std::min<milliseconds::rep>(left.count(), 3'600'000)));
  }
}

void child_processes::send(const launch_action& action) {
  const auto& x = children_[action.process];
  if (!x.ended)
    kill(-x.id, action.signal);
}

void child_processes::poll_once(int timeout_ms) {
  std::vector<pollfd> waiting{{signal_pipe[0], POLLIN, 0}};
  std::vector<size_t> who;
  for (size_t i = 0; i < children_.size(); ++i)
    if (children_[i].output >= 0) {
      waiting.push_back({children_[i].output, POLLIN, 0});
      who.push_back(i);
    }
  if (poll(waiting.data(), waiting.size(), timeout_ms) <= 0)
    return; // a signal, or time is up: the caller checks
  for (size_t i = 0; i < who.size(); ++i)
    if (waiting[i + 1].revents != 0)
      read_output(children_[who[i]]);
}

// Reads once, so that a child which writes without end leaves the others their turn. False when
// there was nothing.
bool child_processes::read_output(child& x) {
  std::array<char, 65536> buffer;
  const ssize_t size = read(x.output, buffer.data(), buffer.size());
  if (size > 0) {
    take_output(x, buffer.data(), static_cast<size_t>(size));
    return true;
  }
  if (size == 0 || (errno != EAGAIN && errno != EINTR))
    close(std::exchange(x.output, -1));
  return false;
}

void child_processes::take_output(child& x, const char* text, size_t size) {
  for (const char* end = text + size; text != end; ++text) {
    if (*text != '\n')
      x.open_line += *text;
    if (*text == '\n' || x.open_line.size() >= line_bytes_max)
      print_line(x);
  }
}

void child_processes::print_line(child& x) {
  print_(mark(x) + x.open_line + '\n');
  x.last_lines.push_back(std::move(x.open_line));
  x.open_line.clear();
  if (x.last_lines.size() > lines_kept)
    x.last_lines.pop_front();
}

// What it wrote before its end. A process that it started may hold the pipe open; the launcher does
// not wait for that one.
void child_processes::drain(child& x) {
  while (x.output >= 0 && read_output(x)) {
  }
  if (x.output >= 0)
    close(std::exchange(x.output, -1));
  if (!x.open_line.empty())
    print_line(x);
}

void child_processes::collect_signals(news& out) {
  std::array<unsigned char, 64> bytes;
  for (ssize_t size; (size = read(signal_pipe[0], bytes.data(), bytes.size())) > 0;)
    for (ssize_t i = 0; i < size; ++i)
      if (bytes[static_cast<size_t>(i)] != SIGCHLD)
        out.stop_signals.push_back(bytes[static_cast<size_t>(i)]);
}

void child_processes::collect_ends(news& out) {
  for (size_t i = 0; i < children_.size(); ++i) {
    auto& x = children_[i];
    siginfo_t found{};
    const auto id = static_cast<id_t>(x.id);
    if (x.ended || waitid(P_PID, id, &found, WEXITED | WNOHANG | WNOWAIT) != 0 || found.si_pid == 0)
      continue;
    // Kills what the child started and left behind. Until the child is reaped no other process has its number.
    kill(-x.id, SIGKILL);
    waitpid(x.id, nullptr, 0);
    x.ended = true;
    drain(x);
    const bool by_itself = found.si_code == CLD_EXITED;
    out.ended.emplace_back(i, by_itself ? process_end{found.si_status, 0}
                                        : process_end{0, found.si_status});
  }
}

std::string child_processes::mark(const child& x) const {
  const auto index = static_cast<size_t>(&x - children_.data());
  std::string result = x.name;
  result.append(marks_.width - std::min(marks_.width, x.name.size()), ' ');
  result += " | ";
  if (marks_.colour)
    result = "\033[" + std::string{colours[index % colours.size()]} + "m" + result + "\033[0m";
  return result;
}

std::string end_text(const process_end& end) {
  if (end.signal != 0)
    return "killed by signal " + std::to_string(end.signal) + " (" + strsignal(end.signal) + ")";
  std::string result = "exit code " + std::to_string(end.exit_code);
  for (const auto& [code, name] : name_table<failure_code>::entries)
    if (static_cast<int>(code) == end.exit_code)
      result += " (" + std::string{name} + ")";
  return result;
}

std::string end_and_lines(const process_end& end, const std::deque<std::string>& last_lines) {
  auto result = end_text(end) + '\n';
  if (!last_lines.empty())
    result += "  its last lines:\n";
  for (const auto& line : last_lines)
    result += "    " + line + '\n';
  return result;
}

std::string failed_node_text(const failed_node& x, bool run_ended_well) {
  std::string result = run_ended_well ? "troupe: warning: node '" : "troupe: error: node '";
  result += x.name + "' ";
  result += run_ended_well ? "was lost, the others did its work: " : "failed first: ";
  return result + end_and_lines(x.end, x.last_lines);
}

failure killed_director(const process_end& end, int exit_code) {
  for (const auto code : {failure_code::interrupted, failure_code::terminated})
    if (exit_code == static_cast<int>(code))
      return {code,
              "the run was stopped before it had a result: the director was " + end_text(end),
              {},
              "after the first signal the run ends at the next version; a second one ends it at "
              "once"};
  for (const auto& [code, name] : name_table<failure_code>::entries)
    if (exit_code == static_cast<int>(code))
      return {code,
              "another node failed first, so the director was stopped: " + end_text({exit_code, 0}),
              {},
              "its reason is on standard error"};
  return {failure_code::internal, "the director was " + end_text(end)};
}

bool is_stop_before_a_result(const std::string& object) {
  const auto parsed = nlohmann::json::parse(object, nullptr, false);
  const auto code = nlohmann::json::json_pointer{"/error/code"};
  return parsed.is_object() && parsed.contains(code) &&
         parsed[code] == name_of(failure_code::terminated);
}

} // namespace troupe
