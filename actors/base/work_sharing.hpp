// Sharing work between threads that do not fall asleep at once.
//
// Replicas and shards take turns: whoever is done waits for the others for some ten microseconds,
// hundreds of times a second. CAF's own "sharing" lets a thread sleep as soon as there is nothing
// to do, and waking it takes 40 to 90 microseconds: a share of every step, and most of a short one.
// Here a thread that finds nothing looks on for a while, giving way to whoever needs the core, and
// is woken only when it sleeps after all. While it looks it does other work as well, if the process has some:
// what another process sends is then taken by the thread that waits for it.

#pragma once

#include <chrono>
#include <memory>
#include <optional>

namespace caf {
class actor_system;
class actor_system_config;
} // namespace caf

namespace troupe {

/// How long an idle thread looks for work before it sleeps: longer than replicas wait for each
/// other in a step, or for others of the same machine, short enough that a process that waits for a
/// distant one or a person sleeps. Doubled, a process that is waited for on the same cores gets them
/// later.
inline constexpr std::chrono::microseconds look_out_time{300};

/// Work beside the actors' that a thread does while it looks for some: in short turns, one at a time.
class idle_work {
public:
  virtual ~idle_work() = default;
  /// False: there was nothing to do.
  virtual bool take_turn() = 0;
  /// A thread that has work should take a turn first.
  virtual bool is_due() const = 0;
};

/// From now on the threads of a system that shares work so take turns; of other systems none do.
void begin_idle_work(caf::actor_system& system, std::shared_ptr<idle_work> what);
/// From now on they do not; waits for a turn under way.
void end_idle_work(caf::actor_system& system, const idle_work& what);
/// When this thread, if it is one of the system's, took its job: once that is done it takes a turn that is due. In a
/// turn it has no job, and has not begun one.
std::optional<std::chrono::steady_clock::time_point> job_begin_of(const caf::actor_system& system);

/// Lets systems made from `config` share work so, unless it has a scheduler of its own, or its `scheduler.policy`
/// is "stealing" or "testing", which are CAF's. Threads and throughput are the configuration's.
void share_work(caf::actor_system_config& config);

} // namespace troupe
