// Workloads: small jobs on a handful of machines, and what may befall them.

#pragma once

#include "models/base/names.hpp"
#include "tests/simulation/cluster.hpp"

#include <string>
#include <vector>

namespace troupe::simulation {

enum class fault_kind : uint8_t {
  replica_crash,     ///< a process without spans dies, and usually comes back
  shard_crash,       ///< the same with spans
  director_crash,    ///< it dies and is started again on its disk
  short_freeze,      ///< a process stands still, shorter than others wait
  long_freeze,       ///< so long that it is given up
  partition,         ///< two machines cannot hear each other
  lasting_partition, ///< two processes cannot hear each other to the end; the director hears both
  one_way_partition, ///< one of two cannot hear the other
  link_reset,        ///< a connection is lost with what it carried
  corruption,        ///< messages arrive with a flipped bit, anywhere in them
  message_loss,      ///< messages get lost although their link stays
  message_echo,      ///< messages come a second time, seconds later
  hung_threads, ///< a process's link holds, and its replicas and shards, its node too perhaps, do nothing
  other_file,      ///< a process comes back with a replica less than the director counts on
  slow_machine,    ///< each message takes a process milliseconds
  late_join,       ///< a machine that was off is switched on
  disk_full,       ///< the director's disk takes no more for a while
  disk_failure,    ///< its next operations fail
  torn_write,      ///< its machine loses power in the middle of one
  disk_rot,        ///< a bit of a checkpoint flips, and the director dies
  disk_loss,       ///< its machine is lost with the disk
  stale_director,  ///< it is replaced, and what the old one said is heard again and again
  stop_and_resume, ///< an interrupt; the run goes on in another cluster
  notice,          ///< a process is asked to end soon, and killed after a while
};

/// Of those that all seeds draw.
inline constexpr size_t drawn_fault_count = 23;
inline constexpr size_t fault_kind_count = 24;

std::string to_string(fault_kind x);

struct fault {
  fault_kind kind = fault_kind::replica_crash;
  uint64_t at_version = 0; ///< once this version has been seen on the wires ...
  duration wait{0};        ///< ... and so much time has passed
  duration length{0};
  uint64_t choice = 0; ///< whom it hits, among those it can hit
};

/// How far any run of a job agrees with its twin. Where a parameter server owns all parameters it depends on
/// the order of arrival what asynchronous gradients lead to, and no shard applies whole steps.
enum class agreement : uint8_t { every_version, result, end };

struct workload {
  std::string name;
  job what;
  std::vector<machine_plan> machines;
  std::vector<machine_plan> other_machines; ///< that go on after an interrupt
  /// Replicas add slices before they send them, which the twin's do not.
  bool adds_siblings = false;
  /// Small pieces, so that parts of a span are lost; three may be under way, so that others wait.
  exchange_options exchange{};
  /// The director writes nothing down.
  bool is_diskless = false;
  agreement with_twin = agreement::every_version;
  bool has_holders = false; ///< machines have rows that others do not have
};

/// All of them; the order is that of `--workload` numbers in seeds.
const std::vector<workload>& workloads();

/// Seeds draw from the first ones. Others are run by name only: drawing them would make another run
/// of every seed, and each mutant's first seed another one.
inline constexpr size_t drawn_workload_count = 11;
/// Behind them: a parameter server and trainers of other processes.
inline constexpr size_t kept_workload_count = 5;
/// Behind these: models that groups of replicas carry, or fetch. Their twin is one replica with a whole
/// model.
inline constexpr size_t split_workload_count = 5;
/// Behind these: federated rounds.
inline constexpr size_t federated_workload_count = 2;
/// Behind these: machines with rows of their own. Their twin is one process with all rows.
inline constexpr size_t home_workload_count = 5;

/// The last ones: a parameter server decides, and several processes own the parameters.
inline constexpr size_t span_workload_count = 6;

enum class workload_set : uint8_t { whole, kept, split, federated, home, spans };

/// Which of a set a seed runs, unless it is told: an index of `workloads`.
size_t workload_of(uint64_t seed, workload_set set = workload_set::whole);

/// What befalls seed `seed`: every kind has its turn as the first one.
std::vector<fault> draw_faults(uint64_t seed, uint64_t last_version, dice& random);
/// Processes that are asked to end: alone, or together.
std::vector<fault> draw_notices(uint64_t last_version, dice& random);

} // namespace troupe::simulation
