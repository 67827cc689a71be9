// What the doctor thinks of what it saw (app/doctor/machine_facts.hpp): functions from facts to
// findings, with the thresholds and the reason for each.

#pragma once

#include "troupe/app/doctor/doctor_finding.hpp"
#include "troupe/app/doctor/machine_facts.hpp"
#include "troupe/app/run/planned_run.hpp"

namespace troupe {

/// What a job or cluster file wants of the machine; without a file, nothing.
struct wishes {
  std::optional<size_t> threads;                         ///< runtime.threads
  std::optional<products::instruction_set> instructions; ///< runtime.instructions
  size_t node_count = 0;                                 ///< 0: one process
};

/// A run's process has about thirty files open: standard streams, logs, data, checkpoints, CAF's
/// own sockets and pipes. Doubled, small containers would be warned for nothing.
inline constexpr uint64_t descriptors_base = 64;
/// A link is one socket, and another for a moment while a lost one is dialled anew; the gate holds
/// as many again for those who knock.
inline constexpr uint64_t descriptors_per_node = 4;

/// A model, its history and a checkpoint of the examples take less; what most jobs write takes
/// more.
inline constexpr uint64_t free_bytes_min = uint64_t{16} << 20;
/// Three checkpoints of a model of 30 million parameters with Adam.
inline constexpr uint64_t free_bytes_low = uint64_t{1} << 30;

/// Time enough to have a new certificate signed; and the longest that most runs take.
inline constexpr int64_t certificate_days_low = 30;

/// Deadlines and heartbeats are told in milliseconds.
inline constexpr int64_t clock_step_ns_max = 1'000'000;

finding judge_processors(const machine_facts& x, const wishes& wanted);
finding judge_arithmetic(const machine_facts& x, const wishes& wanted);
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
