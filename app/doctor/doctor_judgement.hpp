// The doctor's verdicts: functions from facts to findings, with the thresholds and the reason for each. A
// finding says what one check found, and what to do about it. app/doctor/machine_facts.hpp collects the facts,
// so tests reach every verdict without a machine that deserves it.

#pragma once

#include "app/doctor/machine_facts.hpp"
#include "app/run/run_start.hpp"
#include "data/text/failure.hpp"

#include <string>
#include <vector>

namespace troupe {

enum class health : uint8_t {
  ok,
  warn, ///< a run works, but not as well as it could
  fail, ///< a run would be refused, or end early
};

template <>
struct name_table<health> {
  static constexpr std::array entries{named(health::ok, "ok"), named(health::warn, "warn"),
                                      named(health::fail, "fail")};
};

struct finding {
  std::string check; ///< one or two words: "processors", "port of main"
  health verdict = health::ok;
  std::string what;                          ///< what was found
  std::string hint{};                        ///< what to do; empty when all is well
  failure_code code = failure_code::bad_job; ///< what a run would end with, when it fails

  friend bool operator==(const finding&, const finding&) = default;
};

using findings = std::vector<finding>;

/// The first that fails; null when none does. Its code is the exit code.
const finding* first_failed(const findings& all);

/// One line each, "ok    processors  2, all usable", with hints below.
std::string doctor_report(const findings& all);

/// {"verdict": .., "checks": [{"check", "verdict", "what", "hint"}]} on one line, and `error` as
/// every failed command has it when one fails.
std::string doctor_json(const findings& all);

/// What a job or cluster file wants of the machine; without a file, nothing.
struct wishes {
  std::optional<size_t> threads;                         ///< runtime.threads
  std::optional<products::instruction_set> instructions; ///< runtime.instructions
  size_t node_count = 0;                                 ///< 0: one process
  std::string device = "cpu";                            ///< runtime.device
};

/// A run's process has about thirty files open: standard streams, logs, data, checkpoints, CAF's
/// own sockets and pipes. Doubled, small containers would be warned for nothing.
inline constexpr uint64_t descriptors_base = 64;
/// A link is one socket, and two for a moment while the node dials a lost one anew. The gate holds
/// as many again for connections that are not admitted yet.
inline constexpr uint64_t descriptors_per_node = 4;

/// A model, its history and a checkpoint of the examples take less; what most jobs write takes
/// more.
inline constexpr uint64_t free_bytes_min = uint64_t{16} << 20;
/// Three checkpoints of a model of 30 million parameters with Adam.
inline constexpr uint64_t free_bytes_low = uint64_t{1} << 30;

/// Time enough to have a new certificate signed; and the longest that most runs take.
inline constexpr int64_t certificate_days_low = 30;

/// Deadlines and heartbeats are in milliseconds.
inline constexpr int64_t clock_step_ns_max = 1'000'000;

finding judge_processors(const machine_facts& x, const wishes& wanted);
finding judge_arithmetic(const machine_facts& x, const wishes& wanted);
/// One finding a device; and one more where the job wants a device that is not here, or is not right.
findings judge_devices(const std::vector<device_state>& all, const wishes& wanted);
finding judge_descriptors(const machine_facts& x, const wishes& wanted);
finding judge_clock(const machine_facts& x);
finding judge_folder(const std::string& check, const folder_facts& x);
finding judge_port(const cluster_node& node, port_state state);
finding judge_certificate(const std::string& check, const certificate_file_facts& x);
finding judge_key(const std::string& check, const key_facts& x);
/// The memory of each process, and how the model is split.
findings judge_plan(const planned_run& x);
/// Why the run would end before it begins.
finding judge_unplanned(const failure& error);

} // namespace troupe
