// Sharing work between threads that do not fall asleep at once.
//
// Replicas and shards take turns: whoever is done waits for the others for some ten microseconds,
// hundreds of times a second. CAF's own "sharing" lets a thread sleep as soon as there is nothing
// to do, and waking it takes 40 to 90 microseconds: a share of every step, and most of a short one.
// Here a thread that finds nothing looks on for a while, giving way to whoever needs the core, and
// is woken only when it sleeps after all.

#pragma once

#include <chrono>
#include <functional>

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

/// Whether all threads of a system that shares work so have nothing to do; empty for other systems. Not to
/// be called once the system is gone.
std::function<bool()> idleness_of(caf::actor_system& system);

/// Lets systems made from `config` share work so, instead of by `scheduler.policy`. Threads and
/// throughput are the configuration's.
void share_work(caf::actor_system_config& config);

} // namespace troupe
