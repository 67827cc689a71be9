// Threads that look out for work before they sleep.

#include "actors/base/work_sharing.hpp"

#include "actors/base/work_gauge.hpp"

#include <caf/actor_cast.hpp>
#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/atom.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/policy/work_stealing.hpp>
#include <caf/scheduler/abstract_coordinator.hpp>
#include <caf/scheduler/coordinator.hpp>
#include <caf/scoped_actor.hpp>
#include <caf/send.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

namespace troupe::work_sharing_test {
namespace {

using namespace std::chrono_literals;
using stealing = caf::scheduler::coordinator<caf::policy::work_stealing>;

class shared_work : public testing::Test {
protected:
  void start(size_t threads) {
    config_.set("scheduler.max-threads", threads);
    share_work(config_);
    system_.emplace(config_);
  }

  std::atomic<bool> may_end_ = false; ///< read by an actor until the system is gone
  caf::actor_system_config config_;
  std::optional<caf::actor_system> system_;
};

/// Passes a number on, one less, until it is 0; who began hears of it.
caf::behavior passes_on(caf::event_based_actor* self, const caf::actor& home) {
  return {[self, home](int left, const std::vector<caf::actor>& ring) {
    if (left == 0)
      return self->send(home, true);
    const auto next = static_cast<size_t>(left) % ring.size();
    self->send(ring[next], left - 1, ring);
  }};
}

TEST_F(shared_work, takes_the_threads_of_the_configuration) {
  start(3);
  EXPECT_EQ(system_->scheduler().num_workers(), 3u);
}

TEST_F(shared_work, leaves_a_host_the_policy_it_asks_for) {
  config_.set("scheduler.policy", caf::atom("stealing"));
  start(1);
  EXPECT_NE(dynamic_cast<stealing*>(&system_->scheduler()), nullptr);
}

TEST_F(shared_work, leaves_a_host_its_own_scheduler_whoever_comes_first) {
  config_.load<stealing>();
  start(1);
  EXPECT_NE(dynamic_cast<stealing*>(&system_->scheduler()), nullptr);
}

/// Counts its turns, and who took them.
struct counted_turns : idle_work {
  explicit counted_turns(caf::actor_system& system) : of(system) {}

  bool take_turn() override {
    worker_only = worker_only && job_begin_of(of).has_value();
    ++count;
    return is_wanted.exchange(false);
  }
  bool is_due() const override { return is_wanted; }

  caf::actor_system& of;
  std::atomic<int> count{0};
  std::atomic<bool> worker_only{true};
  std::atomic<bool> is_wanted{false};
};

TEST_F(shared_work, does_other_work_while_it_looks_and_what_is_due_between_two_jobs) {
  start(1);
  const auto beside = std::make_shared<counted_turns>(*system_);
  begin_idle_work(*system_, beside);
  EXPECT_FALSE(job_begin_of(*system_));
  const auto actor = system_->spawn([](caf::event_based_actor*) -> caf::behavior {
    return {[](int) { std::this_thread::sleep_for(1ms); }, [](bool) {}};
  });
  caf::scoped_actor self{*system_};
  self->request(actor, 30s, true).receive([] {}, [](const caf::error&) { ADD_FAILURE(); });
  for (int i = 0; i < 1'000 && beside->count == 0; ++i) {
    caf::anon_send(actor, true); // whoever has had a job looks for others
    std::this_thread::sleep_for(1ms);
  }
  EXPECT_GT(beside->count, 0);
  // Two jobs wait: what is due has its turn before the second.
  caf::anon_send(actor, 1);
  beside->is_wanted = true;
  self->request(actor, 30s, true).receive([] {}, [](const caf::error&) { ADD_FAILURE(); });
  for (int i = 0; i < 1'000 && beside->is_wanted; ++i)
    std::this_thread::sleep_for(1ms);
  EXPECT_FALSE(beside->is_wanted);
  EXPECT_TRUE(beside->worker_only);
  end_idle_work(*system_, *beside);
  const int before = beside->count;
  for (int i = 0; i < 20; ++i)
    self->request(actor, 30s, true).receive([] {}, [](const caf::error&) { ADD_FAILURE(); });
  EXPECT_EQ(beside->count, before) << "after its end it has no turn";

  caf::actor_system_config plain;
  caf::actor_system other{plain};
  begin_idle_work(other, beside); // whose threads take none
  end_idle_work(other, *beside);
}

TEST_F(shared_work, reaches_everybody_whether_threads_look_out_or_sleep) {
  for (size_t threads : {1, 2, 4}) {
    system_.reset();
    config_.module_factories.clear();
    start(threads);
    caf::scoped_actor self{*system_};
    std::vector<caf::actor> ring;
    for (int i = 0; i < 7; ++i)
      ring.push_back(system_->spawn(passes_on, caf::actor_cast<caf::actor>(self)));
    for (int begin = 0; begin < 3; ++begin) {
      // The second and third time all threads sleep.
      std::this_thread::sleep_for(begin == 0 ? 0ms : 2 * look_out_time);
      for (int chain = 0; chain < 5; ++chain)
        caf::anon_send(ring.front(), 2'000, ring);
      for (int chain = 0; chain < 5; ++chain)
        self->receive([](bool) {}, caf::after(30s) >> [&] { ADD_FAILURE() << threads; });
    }
    for (const auto& actor : ring)
      caf::anon_send_exit(actor, caf::exit_reason::user_shutdown);
  }
}

// One long job must not keep a second one waiting while a thread sleeps.
TEST_F(shared_work, a_sleeping_thread_is_woken_while_another_works) {
  start(2);
  caf::scoped_actor self{*system_};
  const auto home = caf::actor_cast<caf::actor>(self);
  const auto busy = system_->spawn([&](caf::event_based_actor*) -> caf::behavior {
    return {[&](int) {
      const auto end = std::chrono::steady_clock::now() + 30s;
      while (!may_end_ && std::chrono::steady_clock::now() < end)
        std::this_thread::yield();
    }};
  });
  const auto other = system_->spawn([&](caf::event_based_actor* me) -> caf::behavior {
    return {[me, home](int) { me->send(home, true); }};
  });
  caf::anon_send(busy, 1);
  std::this_thread::sleep_for(20 * look_out_time);
  caf::anon_send(other, 1);
  bool heard = false;
  self->receive([&](bool) { heard = true; }, caf::after(20s) >> [] {});
  may_end_ = true;
  EXPECT_TRUE(heard);
  caf::anon_send_exit(busy, caf::exit_reason::user_shutdown);
  caf::anon_send_exit(other, caf::exit_reason::user_shutdown);
}

TEST(work_gauge, a_time_in_which_the_process_stood_still_is_no_work) {
  work_gauge gauge;
  constexpr moment begin{1h};
  gauge.begin(begin, {trace_kind::slice, 3, 1});
  gauge.restart(begin + 16s);
  EXPECT_EQ(gauge.since(), begin + 16s);
  gauge.end(begin + 17s, true);
  EXPECT_NEAR(gauge.longest() / 1ms, 1000, 1);
  gauge.begin(begin + 20s, {trace_kind::slice, 4, 1});
  gauge.end(begin + 40s, true); // it ended before anybody saw that the process had stood still
  gauge.restart(begin + 40s);
  EXPECT_EQ(gauge.since(), std::nullopt) << "nothing is under way";
  EXPECT_EQ(gauge.longest(), 0s);
}

} // namespace
} // namespace troupe::work_sharing_test
