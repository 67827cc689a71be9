#include "tests/simulation/world.hpp"

#include <caf/actor_cast.hpp>
#include <caf/local_actor.hpp>
#include <caf/scheduled_actor.hpp>
#include <caf/send.hpp>

#include <algorithm>

namespace troupe::simulation {

namespace {

/// Far above what any run needs; a run that gets here goes round in circles.
constexpr size_t messages_max = 3'000'000;

bool is_alive(const caf::strong_actor_ptr& x) {
  const auto* actor = dynamic_cast<caf::scheduled_actor*>(caf::actor_cast<caf::abstract_actor*>(x));
  return actor != nullptr && !actor->getf(caf::abstract_actor::is_terminated_flag);
}

} // namespace

world::world(caf::actor_system& system, uint64_t seed, trace_sink trace)
  : system_(system),
    scheduler_(dynamic_cast<caf::scheduler::test_coordinator&>(system.scheduler())),
    random_(seed),
    trace_(std::move(trace)) {
  // Every run begins at the same time, so that runs of one system are equal.
  scheduler_.clock().current_time = moment{} + std::chrono::hours{1};
  begin_ = now();
}

world::~world() {
  trace_ = {};
  for (machine_id x = 0; x < machines_.size(); ++x)
    if (machines_[x].state != machine_state::down)
      crash(x);
  scheduler_.clock().cancel_all();
  while (scheduler_.try_run_once()) {
  }
}

moment world::now() const {
  return scheduler_.clock().current_time;
}

machine_id world::add_machine(std::string name) {
  auto& here = machines_.emplace_back();
  here.name = std::move(name);
  here.processor = machines_.size() - 1;
  processors_.emplace_back();
  return here.processor;
}

void world::act_on(machine_id x, const std::function<void()>& f) {
  f();
  claim_new_actors(x);
}

// Whoever appears among the ready for the first time was spawned in the turn that just ended.
void world::claim_new_actors(machine_id owner) {
  for (auto i = scheduler_.jobs.rbegin(); i != scheduler_.jobs.rend(); ++i) {
    if (!owners_.emplace(*i, owner).second)
      continue;
    if (auto* actor = dynamic_cast<caf::scheduled_actor*>(*i))
      machines_[owner].actors.push_back(caf::strong_actor_ptr{actor->ctrl()});
  }
}

void world::move(const caf::strong_actor_ptr& who, machine_id to) {
  auto& owner =
    owners_.at(dynamic_cast<caf::resumable*>(caf::actor_cast<caf::abstract_actor*>(who)));
  std::erase(machines_[owner].actors, who);
  machines_[to].actors.push_back(who);
  owner = to;
}

// An exit message overtakes whatever waits in a mailbox, and its reason lets nobody object.
void world::crash(machine_id x) {
  auto& here = machines_[x];
  here.state = machine_state::down;
  for (const auto& one : here.actors)
    caf::anon_send_exit(caf::actor_cast<caf::actor>(one), caf::exit_reason::kill);
  const auto is_here = [&](const caf::resumable* job) {
    const auto found = owners_.find(job);
    return found != owners_.end() && found->second == x;
  };
  while (true) {
    const auto next = std::ranges::find_if(scheduler_.jobs, is_here);
    if (next == scheduler_.jobs.end())
      break;
    run_at(static_cast<size_t>(next - scheduler_.jobs.begin()), x);
  }
  for (const auto& one : here.actors)
    owners_.erase(dynamic_cast<caf::resumable*>(caf::actor_cast<caf::abstract_actor*>(one)));
  here.actors.clear();
}

void world::boot(machine_id x) {
  machines_[x].state = machine_state::running;
  busy_until(x) = now();
}

void world::freeze(machine_id x) {
  machines_[x].state = machine_state::frozen;
}

void world::thaw(machine_id x) {
  machines_[x].state = machine_state::running;
}

void world::at(moment when, std::function<void()> f) {
  events_.push({std::max(when, now()), next_sequence_++, std::move(f)});
}

world::outcome world::run(const std::function<bool()>& done, moment until) {
  const auto messages_before = messages_run_;
  while (!done()) {
    if (messages_run_ - messages_before > messages_max)
      return outcome::livelock;
    if (run_one_message())
      continue;
    if (!move_time(until))
      return now() >= until ? outcome::late : outcome::quiet;
  }
  return outcome::done;
}

void world::drain() {
  while (run_one_message()) {
  }
}

bool world::run_one_message() {
  ready_.clear();
  const auto& jobs = scheduler_.jobs;
  for (size_t i = 0; i < jobs.size(); ++i) {
    const auto owner = owners_.find(jobs[i])->second;
    const auto& here = machines_[owner];
    if (may_run(jobs[i], here) && busy_until(owner) <= now())
      ready_.emplace_back(i, owner);
  }
  if (ready_.empty())
    return false;
  const auto [position, owner] = ready_[random_.below(ready_.size())];
  note(owner);
  run_at(position, owner);
  auto& here = machines_[owner];
  if (here.each_message > duration{0})
    busy_until(owner) = now() + here.each_message;
  return true;
}

bool world::may_run(const caf::resumable* job, const machine& here) const {
  if (here.state != machine_state::running || here.hanging.empty())
    return here.state == machine_state::running;
  const auto* actor = dynamic_cast<const caf::local_actor*>(job);
  return actor == nullptr || !here.hanging.contains(actor->name());
}

void world::run_at(size_t position, machine_id owner) {
  const auto first = scheduler_.jobs.begin();
  const auto pick = first + static_cast<std::ptrdiff_t>(position);
  std::rotate(first, pick, pick + 1);
  scheduler_.run_once();
  ++messages_run_;
  claim_new_actors(owner);
}

bool world::move_time(moment until) {
  auto next = moment::max();
  auto& clock = scheduler_.clock();
  if (!events_.empty())
    next = events_.top().when;
  if (clock.has_pending_timeout())
    next = std::min(next, clock.schedule().begin()->first);
  for (const auto* job : scheduler_.jobs)
    if (const auto owner = owners_.find(job)->second; may_run(job, machines_[owner]))
      next = std::min(next, busy_until(owner));
  if (next == moment::max())
    return false;
  if (next >= until) {
    clock.current_time = until;
    return false;
  }
  clock.current_time = std::max(next, now());
  note(static_cast<uint64_t>(elapsed().count()));
  clock.trigger_expired_timeouts();
  if (!events_.empty() && events_.top().when <= now()) {
    // The queue only lends its top as const; the function is taken out before the event goes.
    auto act = std::move(const_cast<event&>(events_.top()).act);
    events_.pop();
    act();
  }
  return true;
}

void world::note(uint64_t what) {
  fingerprint_ = (fingerprint_ ^ what) * 0x100000001b3ULL + (fingerprint_ >> 47);
}

std::vector<std::string> world::living_actors() const {
  std::vector<std::string> result;
  for (const auto& here : machines_)
    for (const auto& one : here.actors)
      if (is_alive(one))
        result.push_back(
          here.name + "'s " +
          dynamic_cast<caf::local_actor*>(caf::actor_cast<caf::abstract_actor*>(one))->name());
  return result;
}

size_t world::living_timers() const {
  size_t result = 0;
  for (const auto& [due, timer] : scheduler_.clock().schedule())
    if (const auto* message =
          dynamic_cast<const caf::detail::simple_actor_clock::actor_msg*>(timer.get()))
      result += is_alive(message->receiver) ? 1 : 0;
  return result;
}

} // namespace troupe::simulation
