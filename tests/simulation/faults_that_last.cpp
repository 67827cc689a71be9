// What befalls processes that go on (threads that hang, other files, slow machines), and the director's
// disk and its machine while it writes.

#include "tests/simulation/faults.hpp"
#include "tests/simulation/trial.hpp"

namespace troupe::simulation {

using namespace std::chrono_literals;

bool caretaker::hang(const fault& x) {
  const auto who =
    pick(x.choice, [&](size_t i) { return world_.is_running(cluster::machine_of(i)); });
  if (!who)
    return false;
  const auto machine = cluster::machine_of(*who);
  // Some hang to the end; the others must do without them, once they know how long work takes. With
  // a lasting partition as well nobody might be left who can work with another.
  const bool lasts = cluster_.version() > 0 && !has_separated_ && !has_hung_ &&
                     x.choice / 8 % 2 == 0 && cluster_.options().machines[*who].shard_count == 0 &&
                     cluster_.process_count() > 2;
  has_hung_ = has_hung_ || lasts;
  const auto length = lasts ? duration{24h} : x.length;
  // In the node's turn: then nothing is heard of it either, though its link holds.
  const bool is_silent = *who != 0 && x.choice / 16 % 2 == 0;
  world_.trace("** the replicas and shards " + std::string{is_silent ? "and the node " : ""} +
               "of " + world_.name_of(machine) + " hang" + (lasts ? " to the end" : ""));
  world_.hang(machine, is_silent ? std::set<std::string>{"replica", "shard", "node"}
                                 : std::set<std::string>{"replica", "shard"});
  heals_at(world_.now() + (lasts ? duration{20s} : x.length));
  world_.after(length, [this, machine] { world_.hang(machine, {}); });
  return true;
}

// It finds out by the first view that counts on what it does not have, and somebody starts it with
// the right file.
bool caretaker::take_other_file(const fault& x) {
  const auto who = pick(x.choice, [&](size_t i) {
    return world_.is_running(cluster::machine_of(i)) && !holds_spans(i) &&
           cluster_.options().machines[i].replica_count > 0;
  });
  if (!who)
    return false;
  cluster_.crash_process(*who, false);
  cluster_.boot_process(*who, 1);
  heals_at(world_.now() + x.length);
  boot_when_it_ended(*who, x.length);
  return true;
}

void caretaker::boot_when_it_ended(size_t process, duration wait) {
  world_.after(wait, [this, process] {
    if (is_over_)
      return;
    if (world_.state_of(cluster::machine_of(process)) != machine_state::down)
      return boot_when_it_ended(process, 500ms);
    heals_at(world_.now());
    cluster_.boot_process(process);
  });
}

bool caretaker::slow_down(const fault& x) {
  const auto who =
    pick(x.choice, [&](size_t i) { return world_.is_running(cluster::machine_of(i)); });
  if (!who)
    return false;
  const auto machine = cluster::machine_of(*who);
  world_.slow_down(machine, 500us + duration{static_cast<int64_t>(x.choice % 10'000'000)});
  heals_at(world_.now() + x.length);
  world_.after(x.length, [this, machine] { world_.slow_down(machine, duration{0}); });
  return true;
}

bool caretaker::fill_disk(const fault& x) {
  auto& disk = *cluster_.options().disk;
  may_fail_to_write_ = true;
  disk.set_capacity(disk.bytes_used() + x.choice % 60'000);
  heals_at(world_.now() + x.length);
  world_.after(x.length, [this] { cluster_.options().disk->set_capacity(std::nullopt); });
  return true;
}

bool caretaker::fail_disk(const fault& x) {
  may_fail_to_write_ = true;
  cluster_.options().disk->fail_next(1 + x.choice % 3);
  heals_at(world_.now());
  return true;
}

bool caretaker::tear(const fault& x) {
  if (!world_.is_running(cluster::director_machine))
    return false;
  const auto length = x.length;
  cluster_.options().disk->cut_power_after(x.choice % 12, [this, length] {
    count(fault_kind::torn_write);
    world_.trace("** the director's machine loses power while it writes");
    world_.lose_power(cluster::director_machine);
    heals_at(world_.now() + length);
    world_.after(duration{0}, [this, length] {
      cluster_.crash_director(length > 1s);
      cluster_.options().disk->lose_power();
      restart_director_in(length);
    });
  });
  return false; // counted when it happens
}

bool caretaker::rot(const fault& x) {
  if (world_.state_of(cluster::director_machine) == machine_state::down ||
      !cluster_.options().disk->rot())
    return false;
  may_lose_checkpoints_ = true;
  cluster_.crash_director(false);
  restart_director_in(x.length);
  return true;
}

bool caretaker::lose_disk(const fault& x) {
  if (world_.state_of(cluster::director_machine) == machine_state::down)
    return false;
  cluster_.crash_director(x.choice % 2 == 0);
  heals_at(world_.now() + x.length);
  world_.after(x.length, [this] {
    if (is_over_)
      return;
    // A torn write at the same time has its own restart.
    if (world_.state_of(cluster::director_machine) != machine_state::down)
      cluster_.crash_director(false);
    start_anew();
  });
  return true;
}

} // namespace troupe::simulation
