// A CAF scheduler whose idle threads look for work for a while before they sleep.
//
// Replicas and shards take turns: each waits for the others some ten microseconds, hundreds of times a second. CAF's
// own "sharing" lets a thread sleep as soon as there is nothing to do. Waking it takes 40 to 90 microseconds: a share
// of every step, and most of a short one. Here an idle thread keeps looking for a while and yields its core to other
// threads. Only a thread that sleeps after all needs waking. A looking thread also does the process's idle work: it
// receives what another process sends, and so may get what it waits for.

#pragma once

#include <chrono>
#include <memory>
#include <optional>

namespace caf {
class actor_system;
class actor_system_config;
} // namespace caf

namespace troupe {

/// How long an idle thread looks for work before it sleeps. It is longer than replicas of one machine wait for each
/// other in a step. It is short enough that a process which waits for a distant one, or for a person, sleeps. Doubled,
/// another process on the same cores gets them later.
inline constexpr std::chrono::microseconds look_out_time{300};

/// Other work that a thread does while it looks for an actor's job: in short turns, one at a time.
class idle_work {
public:
  virtual ~idle_work() = default;
  /// False: there was nothing to do.
  virtual bool take_turn() = 0;
  /// A thread that has work should take a turn first.
  virtual bool is_due() const = 0;
};

/// From now on the threads of this system take turns, if it has this scheduler; else nothing happens.
void begin_idle_work(caf::actor_system& system, std::shared_ptr<idle_work> what);
/// From now on they take none; waits for a turn under way.
void end_idle_work(caf::actor_system& system, const idle_work& what);
/// When this thread took its current job; nothing if it is none of the system's threads. After the job the thread takes
/// a turn that is due. In a turn it has no job: the time is then the maximum.
std::optional<std::chrono::steady_clock::time_point> job_begin_of(const caf::actor_system& system);

/// Gives systems made from `config` this scheduler, unless `config` has one of its own, or its `scheduler.policy` is
/// CAF's "stealing" or "testing". The configuration sets threads and throughput.
void share_work(caf::actor_system_config& config);

} // namespace troupe
