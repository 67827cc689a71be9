// The actor system that the command makes for a run: its settings, and an end that has a deadline.

#pragma once

#include "coordinators/job/job.hpp"
#include "coordinators/membership/cluster_plan.hpp"

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>

namespace troupe {

/// What a run needs beside threads that compute: at most, of the process alone, and of a node and one link.
struct room_beside_workers {
  size_t threads = 0;
  size_t descriptors = 0;
};
inline constexpr room_beside_workers alone_room{8, 8};
inline constexpr room_beside_workers node_room{12, 16};

/// Whether this process may start the threads and open the files that a run needs. CAF does not survive
/// a thread that it cannot start, so the command asks before it makes an actor system.
///
/// Starts so many threads at once, and opens so many descriptors, and ends and closes them again. Throws
/// failure(io_error) that names the limit when the system permits fewer.
void require_process_room(size_t thread_count, size_t descriptor_count);

/// Throws failure(io_error) where there is no room for a run (require_process_room).
class system_config : public caf::actor_system_config {
public:
  /// Of a run in this process alone.
  explicit system_config(const runtime_options& options);
  /// Of a node of a cluster.
  system_config(const runtime_options& options, const cluster_timeouts& timeouts);

private:
  void set_runtime(const runtime_options& options, const room_beside_workers& room);
};

/// Makes an actor system, does `work` with it, and ends it, all on one thread of its own. Returns when
/// the system has ended, or `patience` after the work: an actor with a reference that never goes would
/// keep a process whose work is done. Then that thread is left behind, with a warning on standard
/// error, and the result is false. Throws what making the system or `work` throws.
bool with_actor_system(std::unique_ptr<system_config> config,
                       const std::function<void(caf::actor_system&)>& work,
                       std::chrono::milliseconds patience = std::chrono::seconds{10});

} // namespace troupe
