#include "tests/simulation/faults.hpp"

#include "tests/simulation/trial.hpp"

namespace troupe::simulation {

namespace {

using namespace std::chrono_literals;

std::string milliseconds_in_words(duration x) {
  return std::to_string(x.count() / 1'000'000) + " ms";
}

} // namespace

caretaker::caretaker(world& here, cluster& patients, oracle& judge, trial_report& report)
  : world_(here), cluster_(patients), judge_(judge), report_(report), healed_at_(here.now()) {}

void caretaker::start(std::vector<fault> faults) {
  waiting_ = std::move(faults);
  start_director();
}

void caretaker::look() {
  for (auto x = waiting_.begin(); x != waiting_.end();) {
    if (x->at_version > cluster_.version()) {
      ++x;
      continue;
    }
    world_.after(x->wait, [this, due = *x] {
      if (!is_over_ && befall(due))
        count(due.kind);
    });
    x = waiting_.erase(x);
  }
  if (is_over_ || !cluster_.finished() || !world_.is_running(cluster::director_machine))
    return;
  const auto& end = *cluster_.finished();
  if (end.failed && may_fail_to_write_ &&
      end.failure == static_cast<uint8_t>(failure_code::io_error)) {
    world_.trace("the run failed: " + end.problem);
    cluster_.options().disk->set_capacity(std::nullopt);
    cluster_.crash_director(false);
    restart_director_in(1s);
    return;
  }
  // Too many were away at once for too long: people start it again.
  if (end.failed && end.failure == static_cast<uint8_t>(failure_code::unavailable) &&
      world_.now() <= healed_at_ + 30s) {
    world_.trace("the run was given up: " + end.problem);
    cluster_.crash_director(false);
    restart_director_in(1s);
    return;
  }
  is_over_ = true;
}

void caretaker::count(fault_kind kind) {
  ++report_.fired[static_cast<size_t>(kind)];
}

bool caretaker::befall(const fault& x) {
  if (!cluster_.options().disk && x.kind >= fault_kind::disk_full &&
      x.kind <= fault_kind::disk_loss)
    return crash_director(x);
  world_.trace("** " + to_string(x.kind) + ", " + milliseconds_in_words(x.length));
  switch (x.kind) {
  case fault_kind::replica_crash:
    return crash_process(x, false);
  case fault_kind::shard_crash:
    return crash_process(x, true);
  case fault_kind::director_crash:
    return crash_director(x);
  case fault_kind::short_freeze:
  case fault_kind::long_freeze:
    return freeze(x);
  case fault_kind::partition:
    return block(x, true);
  case fault_kind::lasting_partition: {
    // Where rows have holders, one of the two may have what nobody else has: they find each other again.
    const bool heals = std::ranges::any_of(cluster_.options().machines,
                                           [](const auto& one) { return one.holding.has_value(); });
    return separate(x, heals ? 6s + x.length : duration{24h});
  }
  case fault_kind::one_way_partition:
    return block(x, false);
  case fault_kind::link_reset:
    return reset_link(x);
  case fault_kind::corruption:
    return corrupt(x);
  case fault_kind::message_loss:
    return drop_messages(x);
  case fault_kind::message_echo:
    return echo_messages(x);
  case fault_kind::hung_threads:
    return hang(x);
  case fault_kind::other_file:
    return take_other_file(x);
  case fault_kind::slow_machine:
    return slow_down(x);
  case fault_kind::late_join:
    return join_late(x);
  case fault_kind::disk_full:
    return fill_disk(x);
  case fault_kind::disk_failure:
    return fail_disk(x);
  case fault_kind::torn_write:
    return tear(x);
  case fault_kind::disk_rot:
    return rot(x);
  case fault_kind::disk_loss:
    return lose_disk(x);
  case fault_kind::stale_director:
    return replace_director(x);
  case fault_kind::stop_and_resume:
    return stop(x);
  case fault_kind::notice:
    return give_notice(x);
  }
  return false;
}

bool caretaker::holds_spans(size_t process) const {
  const auto& view = cluster_.view();
  const auto place = view.find(cluster_.options().machines[process].name);
  return place && view.holds_spans(*place);
}

bool caretaker::crash_process(const fault& x, bool with_spans) {
  const auto victim = pick(x.choice, [&](size_t i) {
    return world_.state_of(cluster::machine_of(i)) != machine_state::down &&
           holds_spans(i) == with_spans;
  });
  if (!victim)
    return false;
  const bool without_a_word = x.choice / 64 % 3 == 0;
  world_.trace("** " + cluster_.options().machines[*victim].name + " dies" +
               (without_a_word ? " without a word" : ""));
  cluster_.crash_process(*victim, without_a_word);
  heals_at(world_.now() + x.length);
  // One of them may stay away when a spare is there.
  const bool spare_runs = world_.is_running(cluster::machine_of(cluster_.process_count() - 1)) &&
                          cluster_.options().machines.back().is_late &&
                          (!with_spans || cluster_.options().machines.back().shard_count > 0) &&
                          *victim + 1 != cluster_.process_count() && !cluster_.decides(*victim);
  if (!gone_ && spare_runs && x.choice / 1024 % 2 == 0 &&
      !cluster_.options().machines[*victim].holding) {
    gone_ = victim;
    return true;
  }
  world_.after(x.length, [this, who = *victim] {
    if (!is_over_ && world_.state_of(cluster::machine_of(who)) == machine_state::down)
      cluster_.boot_process(who);
  });
  return true;
}

bool caretaker::crash_director(const fault& x) {
  if (world_.state_of(cluster::director_machine) == machine_state::down)
    return false;
  const bool loses_power = x.choice / 4 % 2 == 0;
  cluster_.crash_director(loses_power && x.choice % 3 == 0);
  if (loses_power && cluster_.options().disk)
    cluster_.options().disk->lose_power();
  restart_director_in(x.length);
  return true;
}

void caretaker::restart_director_in(duration wait) {
  heals_at(world_.now() + wait);
  world_.after(wait, [this] {
    if (!is_over_ && world_.state_of(cluster::director_machine) == machine_state::down)
      start_director();
  });
}

void caretaker::start_director() {
  if (cluster_.options().disk)
    cluster_.options().disk->close_all();
  judge_.forget_stop();
  const auto problem = cluster_.boot_director();
  if (!problem) {
    if (cluster_.resumed_from())
      judge_.on_resumed(*cluster_.resumed_from());
    return;
  }
  if (may_fail_to_write_ && problem->code() == failure_code::io_error)
    return restart_director_in(1s);
  if (!may_lose_checkpoints_)
    judge_.report(std::string{"the director could not start: "} + problem->what());
  start_anew();
}

// When every checkpoint or the term is lost, people clear the folder and start the director again;
// the others live on.
void caretaker::start_anew() {
  world_.trace("** the director is started anew on an empty disk");
  judge_.forget_stop();
  cluster_.options().disk->replace();
  heals_at(world_.now());
  if (const auto problem = cluster_.boot_director())
    judge_.report(std::string{"the director could not start anew: "} + problem->what());
}

bool caretaker::freeze(const fault& x) {
  // The director stands still like everybody else, now and then.
  const bool is_director = x.choice / 8 % 4 == 0;
  const auto process =
    pick(x.choice, [&](size_t i) { return world_.is_running(cluster::machine_of(i)); });
  if (!is_director && !process)
    return false;
  const auto machine = is_director ? cluster::director_machine : cluster::machine_of(*process);
  if (!world_.is_running(machine))
    return false;
  world_.trace("** " + world_.name_of(machine) + " stands still");
  world_.freeze(machine);
  cluster_.wires().machine_freezes(machine, x.length);
  heals_at(world_.now() + x.length);
  world_.after(x.length, [this, machine] {
    if (world_.state_of(machine) == machine_state::frozen) {
      world_.trace("** " + world_.name_of(machine) + " goes on");
      world_.thaw(machine);
    }
  });
  return true;
}

bool caretaker::block(const fault& x, bool both_ways) {
  const auto count = world_.machine_count();
  const auto from = x.choice % count;
  const auto to = (from + 1 + x.choice / 16 % (count - 1)) % count;
  if (!world_.is_running(from) || !world_.is_running(to))
    return false;
  world_.trace("** " + world_.name_of(from) + (both_ways ? " and " : " cannot be heard by ") +
               world_.name_of(to) + (both_ways ? " cannot hear each other" : ""));
  cluster_.wires().block(from, to, x.length);
  if (both_ways)
    cluster_.wires().block(to, from, x.length);
  heals_at(world_.now() + x.length);
  return true;
}

bool caretaker::reset_link(const fault& x) {
  const auto count = world_.machine_count();
  const auto a = x.choice % count;
  const auto b = (a + 1 + x.choice / 16 % (count - 1)) % count;
  if (!cluster_.wires().is_linked(a, b))
    return false;
  cluster_.wires().reset_link(a, b);
  heals_at(world_.now());
  return true;
}

// The membership rule takes one of them out, and the run goes on without it, or once it has joined anew.
bool caretaker::separate(const fault& x, duration length) {
  const auto count = cluster_.process_count();
  const auto a = cluster::machine_of(x.choice % count);
  const auto b = cluster::machine_of((x.choice + 1 + x.choice / 16 % (count - 1)) % count);
  // Two of them could leave nobody who computes with one who holds spans.
  if (count < 3 || has_separated_ || has_hung_ || !world_.is_running(a) || !world_.is_running(b))
    return false;
  has_separated_ = true;
  world_.trace("** " + world_.name_of(a) + " and " + world_.name_of(b) +
               " cannot hear each other any more");
  cluster_.wires().block(a, b, length);
  cluster_.wires().block(b, a, length);
  heals_at(world_.now() + (length < 24h ? length : duration{0}));
  return true;
}

bool caretaker::corrupt(const fault& x) {
  return trouble_wires(x, &network::set_damage, 3000, &network::damaged_count);
}

bool caretaker::drop_messages(const fault& x) {
  return trouble_wires(x, &network::set_loss, 1000, &network::dropped_count);
}

bool caretaker::echo_messages(const fault& x) {
  return trouble_wires(x, &network::set_echo, 1000, &network::echoed_count);
}

bool caretaker::trouble_wires(const fault& x, void (network::*set)(unsigned), unsigned per_10000,
                              size_t (network::*hits)() const) {
  auto& wires = cluster_.wires();
  const auto before = (wires.*hits)();
  (wires.*set)(per_10000);
  heals_at(world_.now() + x.length);
  world_.after(x.length, [this, &wires, kind = x.kind, set, hits, before] {
    (wires.*set)(0);
    if ((wires.*hits)() > before)
      count(kind);
  });
  return false; // counted when it is over
}

bool caretaker::join_late(const fault& x) {
  const auto who = pick(x.choice, [&](size_t i) {
    return cluster_.options().machines[i].is_late &&
           world_.state_of(cluster::machine_of(i)) == machine_state::down;
  });
  if (!who)
    return false;
  cluster_.boot_process(*who);
  heals_at(world_.now());
  return true;
}

// The old one speaks before the new one does, and long after.
bool caretaker::replace_director(const fault& x) {
  if (world_.state_of(cluster::director_machine) == machine_state::down)
    return false;
  cluster_.crash_director(x.choice % 2 == 0);
  restart_director_in(x.length);
  repeat_stale_director(20);
  return true;
}

void caretaker::repeat_stale_director(size_t times) {
  if (times == 0 || is_over_)
    return;
  cluster_.hear_stale_director();
  heals_at(world_.now());
  world_.after(200ms, [this, times] { repeat_stale_director(times - 1); });
}

bool caretaker::stop(const fault&) {
  if (!world_.is_running(cluster::director_machine))
    return false;
  judge_.on_stop_asked(cluster_.version());
  cluster_.stop();
  return true;
}

// It is killed after its time, which seldom suffices for nothing; and comes back later, as another machine would.
bool caretaker::give_notice(const fault& x) {
  const auto who = pick(x.choice, [&](size_t i) {
    return world_.is_running(cluster::machine_of(i)) && !cluster_.decides(i);
  });
  if (!who)
    return false;
  const auto grace = x.choice / 16 % 4 == 0 && judge_.may_undo()
                       ? duration{x.choice / 64 % 400} * 1'000'000
                       : duration{25s};
  world_.trace("** " + cluster_.options().machines[*who].name + " has to go");
  heals_at(world_.now() + grace + x.length);
  cluster_.ask_to_leave(*who, grace, [this, who = *who, wait = x.length](bool has_left) {
    if (!has_left)
      judge_.on_loss();
    cluster_.crash_process(who, false);
    boot_when_it_ended(who, wait);
  });
  return true;
}

void caretaker::let_all_run() {
  for (machine_id x = 0; x < world_.machine_count(); ++x) {
    world_.slow_down(x, duration{0});
    world_.hang(x, {});
    if (world_.state_of(x) == machine_state::frozen)
      world_.thaw(x);
  }
}

// What befalls processes that go on (threads that hang, other files, slow machines), and the director's
// disk and its machine while it writes.

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
                     !cluster_.options().machines[*who].holding && // nobody may have its rows
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
