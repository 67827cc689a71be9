// A world: machines full of actors on one thread in virtual time.
//
// The world draws which ready actor runs next (order between two given actors is kept), and moves
// time only when nobody can run: to the next event, timer, or the moment a slow machine is done
// with its last message. What it draws comes from one seed, so a run can be repeated exactly.
//
//            crash                    freeze
//   down <----------- running <--------------------> frozen
//        ----------->             thaw
//          boot
//
// A crashed machine's actors are gone at once, without a word. A frozen machine's actors do not
// run; messages and timers pile up until it thaws. A slow machine takes its time for each message.
// Wires are in network.hpp.

#pragma once

#include "actors/run/train.hpp"
#include "coordinators/base/moment.hpp"
#include "tests/simulation/dice.hpp"
#include "tests/support/testing_system.hpp"

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/scheduler/test_coordinator.hpp>

#include <algorithm>
#include <functional>
#include <optional>
#include <queue>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

namespace troupe::simulation {

using machine_id = size_t;

enum class machine_state : uint8_t { down, running, frozen };

/// Where lines for people go; empty: nowhere.
using trace_sink = std::function<void(duration since_begin, const std::string& line)>;

/// Worlds use one system one after the other.
using test::testing_system;

class world {
public:
  /// The system's scheduler must be the one for tests, and no other world may use it.
  world(caf::actor_system& system, uint64_t seed, trace_sink trace = {});

  /// Ends all actors.
  ~world();
  world(const world&) = delete;
  world& operator=(const world&) = delete;

  caf::actor_system& system() { return system_; }
  dice& random() { return random_; }
  moment now() const;
  duration elapsed() const { return now() - begin_; }

  /// A machine that runs, without actors.
  machine_id add_machine(std::string name);
  size_t machine_count() const { return machines_.size(); }
  const std::string& name_of(machine_id x) const { return machines_[x].name; }
  machine_state state_of(machine_id x) const { return machines_[x].state; }
  bool is_running(machine_id x) const { return state_of(x) == machine_state::running; }

  /// Calls `f`; actors that it spawns are this machine's.
  void act_on(machine_id x, const std::function<void()>& f);

  /// From now on this actor, which has been ready once, is on that machine.
  void move(const caf::strong_actor_ptr& who, machine_id to);

  void crash(machine_id x);
  /// In the middle of a message: the machine's crash is on its way, and it says nothing more.
  void lose_power(machine_id x) { machines_[x].state = machine_state::down; }
  void boot(machine_id x);
  void freeze(machine_id x);
  void thaw(machine_id x);
  /// Actors of these names hang, or go on: a machine that is heard of and computes nothing.
  void hang(machine_id x, std::set<std::string> names) { machines_[x].hanging = std::move(names); }
  /// From now on each message takes the machine this long; zero: nothing.
  void slow_down(machine_id x, duration each_message) {
    machines_[x].each_message = each_message;
    busy_until(x) = now();
  }
  /// From now on the machine takes turns with others on this processor. Each has its own unless told.
  void share_processor(machine_id x, size_t processor) { machines_[x].processor = processor; }
  /// Its processor is busy for so long with what it was given now; returns until when.
  moment use_processor(machine_id x, duration length) {
    processor_time_ += length;
    return busy_until(x) = std::max(busy_until(x), now()) + length;
  }
  /// Of all machines, with `use_processor`.
  duration processor_time() const { return processor_time_; }

  /// Calls `f` then; events of one time happen in the order they were given.
  void at(moment when, std::function<void()> f);
  void after(duration wait, std::function<void()> f) { at(now() + wait, std::move(f)); }

  enum class outcome : uint8_t {
    done,    ///< the condition holds
    quiet,   ///< nothing will ever happen again
    late,    ///< time is up
    livelock ///< more messages than any run needs
  };

  /// Runs until `done` (looked at after each event and message) or `until`.
  outcome run(const std::function<bool()>& done, moment until);

  /// Runs what is ready and nothing else.
  void drain();

  /// Actors that are alive on all machines.
  std::vector<std::string> living_actors() const;
  /// Timers of living actors.
  size_t living_timers() const;

  /// A number that differs when anything happened otherwise.
  uint64_t fingerprint() const { return fingerprint_; }
  size_t messages_run() const { return messages_run_; }

  bool traces() const { return static_cast<bool>(trace_); }
  void trace(const std::string& line) {
    if (trace_)
      trace_(elapsed(), line);
  }

private:
  struct machine {
    std::string name;
    machine_state state = machine_state::running;
    std::vector<caf::strong_actor_ptr> actors;
    duration each_message{0};
    size_t processor = 0;
    std::set<std::string> hanging; ///< names of actors
  };

  struct event {
    moment when;
    uint64_t sequence;
    std::function<void()> act;
    bool operator<(const event& other) const {
      return std::pair{when, sequence} > std::pair{other.when, other.sequence};
    }
  };

  moment& busy_until(machine_id x) { return processors_[machines_[x].processor]; }
  bool run_one_message();
  /// Its machine runs, and it does not hang.
  bool may_run(const caf::resumable* job, const machine& here) const;
  bool move_time(moment until);
  void run_at(size_t position, machine_id owner);
  void claim_new_actors(machine_id owner);
  void note(uint64_t what);

  caf::actor_system& system_;
  caf::scheduler::test_coordinator& scheduler_;
  dice random_;
  trace_sink trace_;
  moment begin_;
  std::vector<machine> machines_;
  std::vector<moment> processors_; ///< when each is done with what it was given
  duration processor_time_{0};
  std::unordered_map<const caf::resumable*, machine_id> owners_;
  std::priority_queue<event> events_;
  uint64_t next_sequence_ = 0;
  std::vector<std::pair<size_t, machine_id>> ready_; ///< scratch
  uint64_t fingerprint_ = 0;
  size_t messages_run_ = 0;
};

} // namespace troupe::simulation
