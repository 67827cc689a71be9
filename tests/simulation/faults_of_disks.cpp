// What befalls the director's disk, and its machine while it writes.

#include "troupe/tests/simulation/faults.hpp"
#include "troupe/tests/simulation/trial.hpp"

namespace troupe::simulation {

using namespace std::chrono_literals;

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
