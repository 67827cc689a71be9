// Members of a collective as actors, one message at a time: calls and their answers, a member's
// death, a deadline, what comes twice, and who is of another mind.

#include "actors/collective/collective_member.hpp"
#include "tests/support/payloads.hpp"
#include "tests/support/testing_system.hpp"

#include <caf/event_based_actor.hpp>
#include <caf/scoped_actor.hpp>
#include <caf/send.hpp>

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace troupe::collective_member_test {
namespace {

using test::payload_of;

constexpr milliseconds deadline{1'000};

/// What became of a call: values, or why there are none; nothing yet.
struct answer {
  std::optional<std::vector<float>> values;
  std::string problem;
};

/// Whoever calls: an actor of an application.
caf::behavior caller(caf::event_based_actor* self, const caf::actor& member,
                     const caf::message& call, const std::shared_ptr<answer>& result) {
  self->request(member, caf::infinite, call)
    .then(
      [=](const payload& values) {
        result->values.emplace(values.values().begin(), values.values().end());
      },
      [=](caf::error& why) { result->problem = self->system().render(why); });
  return {};
}

/// Messages are delivered when asked for, and time moves when told to.
class collective_members : public testing::Test, public test::testing_system {
protected:
  ~collective_members() override {
    members_.clear();
    for (const auto& one : callers_)
      caf::anon_send_exit(one, caf::exit_reason::kill);
    callers_.clear();
    pass(collective_tick_interval);
  }

  void pass(milliseconds time) {
    for (milliseconds passed{0}; passed < time; passed += collective_tick_interval) {
      scheduler_->advance_time(collective_tick_interval);
      run();
    }
  }

  void make(size_t member_count) {
    members_ = spawn_collective(*system_, {member_count, deadline, 0});
    run();
  }

  template <class... Arguments>
  std::shared_ptr<answer> call(size_t member, const Arguments&... arguments) {
    auto result = std::make_shared<answer>();
    callers_.push_back(system_->spawn(caller, caf::actor_cast<caf::actor>(members_[member]),
                                      caf::make_message(arguments...), result));
    run();
    return result;
  }

  void kill(size_t member) {
    caf::anon_send_exit(members_[member], caf::exit_reason::kill);
    run();
  }

  std::vector<collective_member_actor> members_;
  std::vector<caf::actor> callers_;
};

using floats = std::vector<float>;

void expect_values(const std::vector<std::shared_ptr<answer>>& answers,
                   const std::vector<floats>& expected) {
  for (size_t k = 0; k < answers.size(); ++k) {
    EXPECT_EQ(answers[k]->problem, "");
    EXPECT_EQ(answers[k]->values, expected[k]) << "member " << k;
  }
}

void expect_problem(const std::shared_ptr<answer>& result, const std::string& why) {
  EXPECT_FALSE(result->values);
  EXPECT_EQ(result->problem, "troupe.collective-failed (\"" + why + "\")");
}

TEST_F(collective_members, all_six_operations_are_answered) {
  make(3);
  const auto all = [&](auto what, uint64_t round) {
    std::vector<std::shared_ptr<answer>> result;
    for (size_t k = 0; k < 3; ++k) {
      const auto own = static_cast<float>(k + 1);
      result.push_back(call(k, what, round, payload_of({own, 10 * own, 100 * own})));
    }
    return result;
  };
  const auto of_root = [&](auto what, uint64_t round) {
    return std::vector{call(0, what, round, uint64_t{1}, payload{}),
                       call(1, what, round, uint64_t{1}, payload_of({7, 8, 9})),
                       call(2, what, round, uint64_t{1}, payload{})};
  };
  expect_values(all(atom::all_reduce_v, 0), {{6, 60, 600}, {6, 60, 600}, {6, 60, 600}});
  expect_values(all(atom::reduce_scatter_v, 1), {{6}, {60}, {600}});
  const floats joined{1, 10, 100, 2, 20, 200, 3, 30, 300};
  expect_values(all(atom::all_gather_v, 2), {joined, joined, joined});
  expect_values(of_root(atom::broadcast_v, 3), {{7, 8, 9}, {7, 8, 9}, {7, 8, 9}});
  expect_values(of_root(atom::scatter_v, 4), {{7}, {8}, {9}});
  const auto first = call(0, atom::barrier_v, uint64_t{5});
  const auto second = call(1, atom::barrier_v, uint64_t{5});
  EXPECT_FALSE(first->values || second->values);
  expect_values({call(2, atom::barrier_v, uint64_t{5}), first, second}, {{}, {}, {}});
}

TEST_F(collective_members, a_members_death_fails_its_rounds_for_all_by_name) {
  make(3);
  const auto first = call(0, atom::all_reduce_v, uint64_t{0}, payload_of({1, 2, 3}));
  kill(2);
  expect_problem(first, "round 0: member 2 is lost: exit_reason(kill)");
  expect_problem(call(1, atom::all_reduce_v, uint64_t{0}, payload_of({1, 2, 3})),
                 "round 0: member 2 is lost: exit_reason(kill)");
  expect_problem(call(0, atom::barrier_v, uint64_t{1}),
                 "round 1: member 2 is lost: exit_reason(kill)");
}

TEST_F(collective_members, a_member_that_nobody_holds_ends_and_is_named) {
  make(2);
  const auto first = call(0, atom::barrier_v, uint64_t{0});
  members_.pop_back();
  run();
  expect_problem(first, "round 0: member 1 is lost: exit_reason(unreachable)");
}

TEST_F(collective_members, a_deadline_fails_the_round_for_all) {
  make(3);
  const auto first = call(0, atom::barrier_v, uint64_t{0});
  pass(deadline / 2);
  const auto second = call(1, atom::barrier_v, uint64_t{0});
  pass(deadline / 2 - collective_tick_interval);
  EXPECT_EQ(first->problem, "");
  pass(2 * collective_tick_interval);
  expect_problem(first, "round 0: member 0 waited 1000 ms for member 2");
  expect_problem(second, "round 0: member 0 waited 1000 ms for member 2");
  expect_problem(call(2, atom::barrier_v, uint64_t{0}),
                 "round 0: member 0 waited 1000 ms for member 2");
}

TEST_F(collective_members, no_clock_runs_while_no_round_is_open) {
  make(2);
  call(0, atom::barrier_v, uint64_t{0});
  call(1, atom::barrier_v, uint64_t{0});
  pass(collective_tick_interval);
  EXPECT_FALSE(scheduler_->has_pending_timeout());
}

TEST_F(collective_members, a_round_is_called_once) {
  make(2);
  const auto first = call(0, atom::barrier_v, uint64_t{3});
  expect_problem(call(0, atom::barrier_v, uint64_t{3}),
                 "round 3: rounds rise, and the last one was 3");
  expect_problem(call(0, atom::broadcast_v, uint64_t{4}, uint64_t{2}, payload{}),
                 "round 4: there is no root 2 among 2 members");
  EXPECT_EQ(first->problem, "") << "the open one goes on";
  expect_values({call(1, atom::barrier_v, uint64_t{3}), first}, {{}, {}});
}

TEST_F(collective_members, a_part_that_comes_twice_or_late_changes_nothing) {
  make(2);
  const collective_part part{
    0, 1, collective_kind::all_reduce, 0, collective_stage::scatter, 1, payload_of({5})};
  const auto send_twice = [&] {
    caf::anon_send(members_[0], part);
    caf::anon_send(members_[0], part);
    run();
  };
  send_twice();
  const auto first = call(0, atom::all_reduce_v, uint64_t{0}, payload_of({1}));
  send_twice();
  expect_values({first, call(1, atom::all_reduce_v, uint64_t{0}, payload_of({5}))}, {{6}, {6}});
  expect_values({call(1, atom::all_reduce_v, uint64_t{1}, payload_of({7})),
                 call(0, atom::all_reduce_v, uint64_t{1}, payload_of({1}))},
                {{8}, {8}});
}

TEST_F(collective_members, a_member_of_another_mind_fails_the_round_for_all_by_name) {
  make(3);
  const auto first = call(0, atom::all_reduce_v, uint64_t{0}, payload_of({1, 2}));
  const auto second = call(1, atom::all_reduce_v, uint64_t{0}, payload_of({1}));
  const std::string why = "round 0: member 0 has values: 2 where member 1 has values: 1";
  expect_problem(first, why);
  expect_problem(second, why);
  expect_problem(call(2, atom::all_reduce_v, uint64_t{0}, payload_of({1})), why);
}

TEST_F(collective_members, a_group_is_known_before_the_first_call_and_has_all_members) {
  const auto lonely = system_->spawn(collective_member, collective_member_options{{2}, 0});
  members_ = {lonely};
  run();
  expect_problem(call(0, atom::barrier_v, uint64_t{0}), "round 0: the group is not known yet");
  caf::scoped_actor self{*system_};
  self->monitor(lonely);
  caf::anon_send(lonely, collective_group{{lonely}});
  run();
  std::string reason;
  self->receive([&](const caf::down_msg& down) { reason = reason_text(*system_, down.reason); },
                caf::after(std::chrono::seconds{0}) >> [] {});
  EXPECT_EQ(reason, "collective: a group of 1 members, not 2");
}

} // namespace
} // namespace troupe::collective_member_test
