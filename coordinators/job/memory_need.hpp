// How much memory a process of a run takes, by cause: told before it starts, and refused by name when
// there is not so much, instead of ending in the middle.
//
// What each cause comes to is the plan's business (coordinators/parallel/process_plan.hpp). Here is what
// follows from it: a limit that it does not keep to, and what would help.

#pragma once

#include "coordinators/job/job.hpp"
#include "coordinators/job/resolve.hpp"
#include "models/base/names.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <string>

namespace troupe {

enum class memory_cause : uint8_t {
  parameters,  ///< versions of the window: what replicas read and shards own
  optimizer,   ///< state of the spans that its shards own
  gradients,   ///< of its replicas' tiles, until the shards have added them
  sums,        ///< gradients that come from others for its spans, and what is added before clipping
  activations, ///< rows behind layers, derivatives, gathered rows of the data
  boundaries,  ///< rows on their way between replicas of a group
  kept,        ///< boundaries that other processes may ask for until the next version is whole
  checkpoints, ///< copies of the spans' state
  copies,      ///< likewise, for what others may lose, of its own spans and as a deputy
  data,        ///< rows, all of them
  process,     ///< the program itself, its threads, and what is under way to others
};
inline constexpr size_t memory_cause_count = 11;

template <>
struct name_table<memory_cause> {
  static constexpr std::array entries{named(memory_cause::parameters, "parameters"),
                                      named(memory_cause::optimizer, "optimizer"),
                                      named(memory_cause::gradients, "gradients"),
                                      named(memory_cause::sums, "sums"),
                                      named(memory_cause::activations, "activations"),
                                      named(memory_cause::boundaries, "boundaries"),
                                      named(memory_cause::kept, "kept"),
                                      named(memory_cause::checkpoints, "checkpoints"),
                                      named(memory_cause::copies, "copies"),
                                      named(memory_cause::data, "data"),
                                      named(memory_cause::process, "process")};
};

struct memory_need {
  std::array<uint64_t, memory_cause_count> bytes{}; ///< by cause

  uint64_t of(memory_cause cause) const { return bytes[static_cast<size_t>(cause)]; }
  /// Sums that cannot be counted are the largest number.
  void add(memory_cause cause, uint64_t more);
  uint64_t sum() const;
  /// What training adds to a process that has read its data.
  uint64_t to_come() const;
  /// Of what training adds.
  memory_cause largest() const;

  friend bool operator==(const memory_need&, const memory_need&) = default;
};

/// What a process may have.
enum class memory_limit_kind : uint8_t {
  machine,       ///< left
  group,         ///< left, of a container or a batch system
  address_space, ///< left, of `ulimit -v`
  stated,        ///< in all, as the cluster file says of a node
};

struct memory_limit {
  memory_limit_kind kind = memory_limit_kind::machine;
  uint64_t bytes = 0;

  friend bool operator==(const memory_limit&, const memory_limit&) = default;
};

/// The program, its libraries and its threads' stacks as far as they are used. Measured: 21 MiB with
/// one thread, 22 with eight.
inline constexpr uint64_t program_bytes = uint64_t{22} << 20;

/// Address space of a thread that computes nothing: its stack.
inline constexpr uint64_t address_bytes_of_stack = uint64_t{8} << 20;

/// Address space that threads take and never write to, where they share one arena (spare_address_space):
/// each a stack; five beside the scheduler's.
constexpr uint64_t address_bytes_of_threads(size_t thread_count) {
  return (5 + thread_count) * address_bytes_of_stack;
}

/// Why so much memory is too little; nothing when it is enough. `who`: "training takes", say.
std::optional<job_problem> memory_problem(const memory_need& need, const memory_limit& limit,
                                          const std::string& who);

/// "about 1.2 GiB, most of it, 600 MiB, for gradients": of what training adds.
std::string need_text(const memory_need& need);
/// What people may do to need less.
std::string remedy_for(const memory_need& need);

/// What a process owns of a job's parameters where a parameter server decides, or a solver does.
struct owned_part {
  size_t owner_count = 0;   ///< that own equal parts, this process among them; 0: it owns none
  size_t other_workers = 0; ///< replicas of other processes
};

/// What a process needs whose replicas have whole models each: of a job that a parameter server leads, or of a
/// solver. With P parameters, s values an optimizer keeps for each, r replicas, h rows of a slice, u outputs of all
/// layers: 8 P for parameters (asynchronously 4 (r + 1) P) and 4 (r + 1) P for gradients if it has replicas or owns all,
/// 12 r h u for activations.
/// An owner has, of its part, 4 s P, of each member 4 (1 + s) P, and an update and a version for each worker elsewhere.
/// Solvers have a square matrix of doubles instead.
memory_need need_of_whole_models(const job& resolved, const data_shape& shape, size_t replica_count,
                                 const owned_part& own);

/// Bytes of all rows, which every process has.
uint64_t bytes_of_rows(const data_shape& shape);

/// Of a resolved job's model. What cannot be counted is the largest number.
uint64_t parameter_count_of(const job& resolved, const data_shape& shape);

/// Beyond 16 TiB nothing else is counted: products of it would not fit 64 bits.
inline constexpr uint64_t countable_bytes = uint64_t{1} << 44;

/// What a job needs at least, when that is so much that nobody has it; nothing when a plan can be made.
std::optional<memory_need> beyond_counting(const job& resolved, const data_shape& shape);

/// Values that a job's optimizer keeps for each parameter.
uint64_t optimizer_value_count(const optimizer_options& x);

/// "1.2 GiB", "640 KiB": three digits at most.
std::string bytes_text(uint64_t bytes);

} // namespace troupe
