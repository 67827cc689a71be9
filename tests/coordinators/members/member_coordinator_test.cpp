// Members of a coordinator by name: who gets work, who waits, what counts. Random walks let members come, go, stand still,
// start again, say things twice and too late, and count each update once or not at all.

#include "coordinators/members/member_coordinator.hpp"

#include "tests/support/models.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <deque>
#include <numeric>
#include <random>

namespace troupe::member_coordinator_test {
namespace {

using test::floats;
using test::values_of;

constexpr uint64_t incarnation = 1'000;

const_buffer buffer_of(const floats& values) {
  const buffer result{values.size()};
  std::ranges::copy(values, result.values().begin());
  return result;
}

member_coordinator_options gradients(consistency_kind mode = consistency_kind::asynchronous,
                                     size_t first = 1) {
  asynchronous_options rule;
  rule.gradients.optimizer.learning_rate = 1;
  rule.consistency.mode = mode;
  rule.consistency.first_count = first;
  return {.rule = rule};
}

member_coordinator_options models(round_trigger trigger, size_t threshold) {
  return {.rule = parameters_coordinator_options{.trigger = trigger, .threshold = threshold}};
}

struct company {
  explicit company(const member_coordinator_options& options, const floats& initial = {0})
    : rule(options, buffer_of(initial), incarnation) {}

  membership join(const std::string& name) { return rule.join(name, now).value(); }
  member_task pull(const membership& who) { return rule.pull(who, now); }
  update_report take(const membership& who, uint64_t ticket, const floats& values,
                     uint64_t samples = 1) {
    return rule.take(who, ticket, buffer_of(values), samples, now);
  }
  member_verdict hand_in(const membership& who, const floats& values) {
    return take(who, pull(who).ticket, values).verdict;
  }
  floats parameters() const { return values_of(rule.parameters()); }

  member_coordinator rule;
  moment now{};
};

TEST(member_coordinator, an_update_moves_the_model_once_and_is_answered_alike) {
  company x{gradients()};
  const auto a = x.join("a");
  EXPECT_TRUE(a.sends_gradients);
  EXPECT_EQ(a.parameter_count, 1u);
  const auto task = x.pull(a);
  EXPECT_EQ(task.verdict, work_verdict::go);
  EXPECT_EQ(x.pull(a).ticket, task.ticket) << "asked twice";
  const auto report = x.take(a, task.ticket, {4}, 2);
  EXPECT_EQ(report, (update_report{member_verdict::applied, "", 0, 1}));
  EXPECT_EQ(x.take(a, task.ticket, {4}, 2), report) << "it came twice";
  EXPECT_EQ(x.parameters(), floats{-2});
  EXPECT_EQ(x.take(a, 0, {4}).verdict, member_verdict::refused) << "without a ticket";
  EXPECT_EQ(x.take(a, task.ticket + 1, {4}).verdict, member_verdict::refused);
  EXPECT_EQ(x.hand_in(a, {INFINITY}), member_verdict::refused);
  EXPECT_EQ(x.hand_in(a, {1, 2}), member_verdict::refused) << "another size";
  EXPECT_EQ(x.parameters(), floats{-2});
}

TEST(member_coordinator, a_member_that_starts_again_begins_another_life) {
  company x{gradients()};
  const auto first = x.join("a");
  const auto ticket = x.pull(first).ticket;
  const auto second = x.join("a");
  EXPECT_EQ(second.member, first.member);
  EXPECT_NE(second.life, first.life);
  EXPECT_EQ(x.pull(first).verdict, work_verdict::join_again);
  EXPECT_EQ(x.take(first, ticket, {1}).verdict, member_verdict::join_again);
  EXPECT_EQ(x.take(second, ticket, {1}).verdict, member_verdict::refused) << "of the life before";
  x.rule.leave(first); // noticed late
  EXPECT_EQ(x.hand_in(second, {1}), member_verdict::applied);
  EXPECT_EQ(x.parameters(), floats{-1});
  x.rule.leave(second);
  EXPECT_EQ(x.pull(second).verdict, work_verdict::join_again);
  EXPECT_EQ(x.pull({7, 1, true, 1}).verdict, work_verdict::join_again) << "a stranger";
}

TEST(member_coordinator, nobody_gets_work_before_enough_have_come_and_none_comes_beyond_the_most) {
  auto options = gradients();
  options.members_min = options.members_max = 2;
  company x{options};
  const auto a = x.join("a");
  const auto task = x.pull(a);
  EXPECT_EQ(task.verdict, work_verdict::wait);
  EXPECT_EQ(task.reason, "it begins with 2 members, and 1 are here");
  const auto b = x.join("b");
  EXPECT_EQ(x.rule.take_released(), std::set<uint64_t>{a.member});
  EXPECT_EQ(x.rule.join("c", x.now), std::nullopt);
  EXPECT_TRUE(x.rule.join("b", x.now));
  x.rule.leave(b);
  EXPECT_EQ(x.hand_in(a, {1}), member_verdict::applied) << "it has begun";
}

TEST(member_coordinator, a_step_of_the_first_goes_on_without_who_is_lost) {
  company x{gradients(consistency_kind::half_synchronous, 3)};
  const auto a = x.join("a"), b = x.join("b"), c = x.join("c");
  EXPECT_EQ(x.hand_in(a, {3}), member_verdict::held);
  EXPECT_EQ(x.hand_in(b, {3}), member_verdict::held);
  EXPECT_EQ(x.pull(a).verdict, work_verdict::wait);
  x.rule.leave(c);
  EXPECT_EQ(x.parameters(), floats{-3}) << "the mean of two";
  EXPECT_EQ(x.rule.take_released(), std::set<uint64_t>{a.member});
}

TEST(member_coordinator, who_stands_still_is_passed_over_while_others_wait_and_comes_back) {
  auto options = gradients(consistency_kind::bounded);
  options.patience = milliseconds{1'000};
  company x{options};
  const auto a = x.join("a"), b = x.join("b");
  const auto late = x.pull(b).ticket;
  EXPECT_EQ(x.hand_in(a, {1}), member_verdict::applied);
  x.now += milliseconds{5'000};
  x.rule.on_time(x.now);
  EXPECT_EQ(x.pull(a).verdict, work_verdict::wait) << "nobody had waited for b";
  x.rule.on_time(x.now);
  EXPECT_EQ(x.rule.take_released(), std::set<uint64_t>{a.member});
  EXPECT_EQ(x.hand_in(a, {1}), member_verdict::applied);
  const auto report = x.take(b, late, {1});
  EXPECT_EQ(report.verdict, member_verdict::late);
  EXPECT_EQ(report.reason, "others waited for it for too long, and went on without it");
  EXPECT_EQ(x.hand_in(b, {1}), member_verdict::applied);
  EXPECT_EQ(x.parameters(), floats{-3});
}

TEST(member_coordinator, a_member_has_its_time_from_its_first_question_on) {
  auto options = gradients(consistency_kind::bounded);
  options.patience = milliseconds{1'000};
  company x{options};
  const auto a = x.join("a"), b = x.join("b");
  const auto ticket = x.pull(b).ticket;
  x.hand_in(a, {1});
  EXPECT_EQ(x.pull(a).verdict, work_verdict::wait);
  x.now += milliseconds{900};
  x.rule.on_time(x.now);
  EXPECT_TRUE(x.rule.take_released().empty());
  EXPECT_EQ(x.pull(b).ticket, ticket);
  x.now += milliseconds{100};
  x.rule.on_time(x.now);
  EXPECT_EQ(x.rule.take_released(), std::set<uint64_t>{a.member});
  EXPECT_EQ(x.take(b, ticket, {1}).verdict, member_verdict::late);
}

TEST(member_coordinator, whose_updates_are_refused_is_passed_over_like_one_without) {
  auto options = gradients(consistency_kind::half_synchronous, 2);
  options.patience = milliseconds{1'000};
  company x{options};
  const auto a = x.join("a"), b = x.join("b");
  EXPECT_EQ(x.hand_in(a, {1}), member_verdict::held);
  EXPECT_EQ(x.pull(a).verdict, work_verdict::wait);
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(x.hand_in(b, {NAN}), member_verdict::refused);
    x.now += milliseconds{100};
    x.rule.on_time(x.now);
  }
  EXPECT_EQ(x.parameters(), floats{-1});
  EXPECT_EQ(x.pull(a).verdict, work_verdict::go);
}

TEST(member_coordinator, the_place_of_who_has_left_is_anothers_once_there_are_enough_names) {
  auto options = gradients();
  options.members_max = 2;
  company x{options};
  const auto a = x.join("a"), b = x.join("b");
  const auto ticket = x.pull(a).ticket;
  x.rule.leave(a);
  const auto c = x.join("c");
  EXPECT_EQ(c.member, a.member);
  EXPECT_EQ(x.take(a, ticket, {1}).verdict, member_verdict::join_again);
  EXPECT_EQ(x.hand_in(c, {1}), member_verdict::applied);
  EXPECT_EQ(x.rule.join("a", x.now), std::nullopt);
  x.rule.leave(b);
  EXPECT_EQ(x.join("a").member, b.member);
}

TEST(member_coordinator, nobody_waits_for_long_for_a_member_without_a_ticket_either) {
  for (auto options :
       {gradients(consistency_kind::bounded), gradients(consistency_kind::half_synchronous, 2),
        models(round_trigger::distinct, 2)}) {
    options.patience = milliseconds{1'000};
    company x{options};
    const auto a = x.join("a"), b = x.join("b");
    x.hand_in(b, {1});
    x.hand_in(a, {1});
    x.hand_in(a, {1}); // b does not ask again
    EXPECT_EQ(x.pull(a).verdict, work_verdict::wait);
    x.now += milliseconds{1'000};
    x.rule.on_time(x.now);
    EXPECT_EQ(x.rule.take_released(), std::set<uint64_t>{a.member});
    EXPECT_EQ(x.pull(a).verdict, work_verdict::go);
    EXPECT_EQ(x.pull(b).verdict, work_verdict::go);
  }
}

TEST(member_coordinator, models_of_all_make_a_round_and_their_members_wait_for_it) {
  company x{models(round_trigger::distinct, 2)};
  const auto a = x.join("a"), b = x.join("b");
  EXPECT_FALSE(a.sends_gradients);
  EXPECT_EQ(x.hand_in(a, {2}), member_verdict::held);
  EXPECT_EQ(x.pull(a).verdict, work_verdict::wait);
  EXPECT_EQ(x.hand_in(b, {4}), member_verdict::applied);
  EXPECT_EQ(x.rule.take_released(), std::set<uint64_t>{a.member});
  EXPECT_EQ(x.parameters(), floats{3});
  EXPECT_EQ(x.pull(a).version, 1u);
  EXPECT_EQ(x.hand_in(a, {5}), member_verdict::held);
  EXPECT_EQ(x.pull(a).verdict, work_verdict::wait);
  x.rule.leave(b);
  EXPECT_EQ(x.rule.take_released(), std::set<uint64_t>{a.member});
  EXPECT_EQ(x.parameters(), floats{5}) << "no round waits for b";
}

TEST(member_coordinator, a_round_ends_by_time_and_with_the_stop) {
  company x{models(round_trigger::time, 1)};
  const auto a = x.join("a");
  EXPECT_EQ(x.hand_in(a, {2}), member_verdict::held);
  x.now += milliseconds{10'000};
  x.rule.on_time(x.now);
  EXPECT_EQ(x.parameters(), floats{2});
  const auto b = x.join("b");
  const auto ticket = x.pull(b).ticket;
  EXPECT_EQ(x.hand_in(a, {6}), member_verdict::held);
  EXPECT_EQ(x.pull(a).verdict, work_verdict::wait) << "one model of each in a round";
  x.rule.stop();
  EXPECT_EQ(x.parameters(), floats{6});
  EXPECT_EQ(x.pull(a).verdict, work_verdict::over);
  EXPECT_EQ(x.take(b, ticket, {1}).verdict, member_verdict::refused);
}

TEST(member_coordinator, goes_on_from_what_it_saved_as_one_that_never_stopped) {
  for (auto options : {gradients(), models(round_trigger::anybody, 1)}) {
    if (auto* rule = std::get_if<asynchronous_options>(&options.rule))
      rule->gradients.optimizer.momentum = 0.5;
    else
      std::get<parameters_coordinator_options>(options.rule).outer = {
        .kind = outer_kind::sgd, .learning_rate = 0.5, .momentum = 0.5};
    company x{options};
    const auto a = x.join("a");
    x.hand_in(a, {4});
    x.hand_in(a, {4});
    state_saver saver{1};
    x.rule.save(saver);
    const auto state = saver.take();
    EXPECT_EQ(state.shape(), x.rule.shape());
    company y{options};
    state_loader loader{state};
    y.rule.load(x.rule.parameters(), x.rule.version(), loader);
    EXPECT_EQ(y.rule.version(), 2u);
    EXPECT_EQ(y.pull(a).verdict, work_verdict::join_again);
    x.hand_in(a, {4});
    y.hand_in(y.join("a"), {4});
    EXPECT_EQ(x.parameters(), y.parameters());
    EXPECT_EQ(y.rule.version(), 3u);
    EXPECT_THROW(company(options, {0, 0}).rule.load(x.rule.parameters(), 2, loader),
                 std::invalid_argument);
  }
}

TEST(member_coordinator, options_that_do_not_fit_are_refused) {
  EXPECT_THROW((company{gradients(), {}}), std::invalid_argument);
  EXPECT_THROW((company{gradients(), {NAN}}), std::invalid_argument);
  auto options = gradients();
  options.members_min = 0;
  EXPECT_THROW(company{options}, std::invalid_argument);
  options.members_min = options.members_max + 1;
  EXPECT_THROW(company{options}, std::invalid_argument);
  options = gradients();
  options.patience = milliseconds{0};
  EXPECT_THROW(company{options}, std::invalid_argument);
}

// ---- Walks ----

constexpr size_t updates_max = 400;
constexpr size_t updates_walked = 300;

/// A process of a member: what it has been given, and what it has said and may say again.
struct member_process {
  std::optional<membership> place;
  uint64_t ticket = 0;
  size_t update = 0; ///< whose gradient it has for this ticket
  bool is_frozen = false;
};

struct said_update {
  membership who;
  uint64_t ticket = 0;
  size_t update = 0;
};

/// Update k is the k-th unit vector, so the model says which have counted.
struct walk {
  walk(uint64_t seed, consistency_kind mode, size_t first)
    : random(seed), x(options_of(mode, first), floats(updates_max)), members(6) {}

  static member_coordinator_options options_of(consistency_kind mode, size_t first) {
    auto result = gradients(mode, first);
    result.patience = milliseconds{500};
    return result;
  }

  size_t drawn(size_t below) { return std::uniform_int_distribution<size_t>{0, below - 1}(random); }

  void say(const said_update& what) {
    floats values(updates_max);
    values[what.update] = 1;
    const auto report = x.take(what.who, what.ticket, values);
    const auto [known, is_new] = reports.try_emplace({what.who.life, what.ticket}, report);
    const bool is_counted =
      report.verdict == member_verdict::applied || report.verdict == member_verdict::held;
    if (is_new && is_counted)
      counted.insert(what.update);
    if (!is_new && is_counted) {
      EXPECT_EQ(report, known->second) << "it came twice";
    }
    said.push_back(what);
  }

  void act(member_process& one) {
    if (one.is_frozen || !one.place)
      return;
    if (one.ticket != 0) {
      say({*one.place, std::exchange(one.ticket, 0), one.update});
      return;
    }
    const auto task = x.pull(*one.place);
    if (task.verdict == work_verdict::join_again)
      one.place.reset();
    if (task.verdict != work_verdict::go)
      return;
    one.ticket = task.ticket;
    one.update = next_update++;
  }

  void step() {
    const auto who = drawn(members.size());
    auto& one = members[who];
    const auto what = drawn(20);
    if (what < 12) {
      act(one);
    } else if (what < 14 || !one.place) { // it starts, or again
      one = {x.join("member " + std::to_string(who))};
    } else if (what == 14) {
      x.rule.leave(*one.place); // its process is killed
      one = {};
    } else if (what == 15) {
      one.is_frozen = !one.is_frozen;
    } else if (what == 16 && !said.empty()) {
      say(said[drawn(said.size())]); // a message comes twice, maybe much later
    } else if (what == 17) {
      x.take({drawn(9), drawn(5'000), true, updates_max}, drawn(400), floats(updates_max, 1), 1);
    } else if (what == 18) { // a ticket of somebody else, or of an earlier life
      say({*one.place, said.empty() ? 1'000'000 : said[drawn(said.size())].ticket, next_update++});
    } else {
      x.now += milliseconds{drawn(400)};
      x.rule.on_time(x.now);
      x.rule.take_released();
    }
  }

  std::mt19937_64 random;
  company x;
  std::vector<member_process> members;
  std::deque<said_update> said;
  std::map<std::pair<uint64_t, uint64_t>, update_report> reports; ///< by life and ticket
  std::set<size_t> counted;
  size_t next_update = 0;
};

/// Some stand still for good, with a ticket or without, and the others go on without them.
void expect_no_standstill(walk& x) {
  std::vector<member_process> others;
  for (size_t i = 0; i < x.members.size(); ++i)
    if (i % 2 == 1)
      others.push_back({x.x.join("member " + std::to_string(i))});
  const auto before = x.x.rule.version();
  for (int turn = 0; turn < 10; ++turn) {
    for (auto& one : others)
      for (int i = 0; i < 2; ++i) // a pull and an update
        x.act(one);
    x.x.now += milliseconds{300};
    x.x.rule.on_time(x.x.now);
  }
  EXPECT_GT(x.x.rule.version(), before);
  for (size_t i = 0; i < x.members.size(); i += 2)
    if (x.members[i].place)
      x.x.rule.leave(*x.members[i].place);
  for (auto& one : others)
    x.x.rule.leave(*one.place); // what is held counts now, too
}

TEST(member_coordinator, walks_count_each_update_once_or_not_at_all) {
  size_t all = 0;
  for (uint64_t seed = 0; seed < 600; ++seed) {
    using enum consistency_kind;
    const auto mode = std::array{asynchronous, bounded, half_synchronous, lag}[seed % 4];
    walk x{seed, mode, mode == half_synchronous ? 1 + seed % 3 : 1};
    while (x.next_update < updates_walked && x.reports.size() < updates_walked)
      x.step();
    const auto before = x.x.rule.version();
    expect_no_standstill(x);
    size_t moved = 0;
    double total = 0;
    for (size_t update = 0; update < updates_max; ++update) {
      const auto value = static_cast<double>(x.x.parameters()[update]);
      moved += value != 0 ? 1 : 0;
      total += value;
      ASSERT_EQ(value != 0, x.counted.contains(update)) << "seed " << seed << ", update " << update;
      ASSERT_GE(value, -1) << "seed " << seed;
      ASSERT_TRUE(mode == half_synchronous || value == 0 || value == -1) << "seed " << seed;
    }
    ASSERT_GE(x.x.rule.version(), before);
    ASSERT_NEAR(total, -static_cast<double>(x.x.rule.version()), 1e-3) << "seed " << seed;
    all += moved;
  }
  EXPECT_GT(all, 20'000u) << "most updates of a walk count";
}

} // namespace
} // namespace troupe::member_coordinator_test
