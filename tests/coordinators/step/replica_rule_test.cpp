#include "coordinators/step/replica_rule.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace troupe::replica_rule_test {
namespace {

using action = replica_rule::action;

// 2 steps an epoch, 3 epochs; versions 2, 4 and 6 are evaluated.
timeline six_steps() {
  return {.row_count = 8, .batch_size = 4, .slice_count = 2, .epoch_count = 3, .step_limit = {}};
}

/// One shard, and a horizon.
replica_rule with_horizon(const horizon_rule& horizon) {
  replica_rule rule{six_steps(), 1};
  rule.set_horizon(horizon);
  return rule;
}

/// All that is to be done now: "c0 e2" computes step 0 and evaluates version 2.
std::string deeds(replica_rule& rule) {
  std::string result;
  for (auto what = rule.next(); what != action::wait; what = rule.next())
    result += (result.empty() ? "" : " ") + std::string{what == action::compute ? "c" : "e"} +
              std::to_string(rule.version());
  return result;
}

/// A replica beside its shards. Shards run ahead where the replica has no rows, as far as the
/// replicas that do have rows can carry them; their announcements are delivered in any order
/// between shards.
class walk {
public:
  explicit walk(uint64_t seed) : random_(seed) {
    plan_.row_count = 2 + random_() % 6;
    plan_.batch_size = 1 + random_() % 2;
    plan_.epoch_count = 1 + random_() % 3;
    plan_.evaluate_every = random_() % 3;
    if (random_() % 3 == 0)
      plan_.step_limit = 1 + random_() % 6;
    const size_t shards = 1 + random_() % 4;
    rule_ = replica_rule{plan_, shards};
    announced_.resize(shards);
    delivered_.resize(shards, 0);
    for (auto& versions : announced_)
      versions = 1; // version 0
    for (uint64_t step = 0; step < plan_.last_version(); ++step)
      has_rows_.push_back(random_() % 3 != 0);
  }

  void run() {
    const auto last = plan_.last_version();
    for (int events = 0; done_steps_ < last || evaluations_ < expected_evaluations(); ++events) {
      ASSERT_LT(events, 20'000) << "stuck at version " << rule_.version();
      one_event();
      ASSERT_FALSE(testing::Test::HasFatalFailure());
    }
    ASSERT_EQ(rule_.next(), action::wait);
  }

  uint64_t lag_max() const { return lag_max_; }

private:
  void one_event() {
    switch (random_() % 8) {
    case 0:
    case 1:
      return shard_goes_on();
    case 2:
    case 3:
    case 4:
      return deliver();
    case 5:
      if (rule_.hold() != done_steps_)
        FAIL() << "the first step not started";
      held_ = true;
      return;
    case 6:
      return allow();
    default:
      return act();
    }
  }

  // A shard reaches v + 1 once all owners of rows own v, which takes v from every shard.
  void shard_goes_on() {
    auto& mine = announced_[random_() % announced_.size()];
    const auto step = mine - 1;
    const bool can = step < horizon_sent_ && mine <= *std::ranges::min_element(announced_) &&
                     (!has_rows_[step] || done_steps_ > step);
    mine += can ? 1 : 0;
  }

  void deliver() {
    const auto shard = random_() % announced_.size();
    if (delivered_[shard] == announced_[shard])
      return;
    ASSERT_TRUE(rule_.announce(delivered_[shard], shard));
    ASSERT_FALSE(rule_.announce(delivered_[shard], shard)) << "twice";
    ++delivered_[shard];
    const auto newest = *std::ranges::max_element(delivered_);
    lag_max_ = std::max(lag_max_, newest - 1 - std::min(newest - 1, rule_.version()));
  }

  void allow() {
    if (horizon_sent_ < plan_.last_version())
      ++horizon_sent_;
    rule_.set_horizon({horizon_sent_, horizon_sent_ == plan_.last_version()});
    held_ = false;
  }

  bool owns(uint64_t version) const {
    return std::ranges::all_of(delivered_, [=](uint64_t count) { return count > version; });
  }

  void act() {
    const auto before = visited_;
    const auto what = rule_.next();
    const auto version = rule_.version();
    ASSERT_TRUE(version == before || version == before + 1) << "one by one";
    if (version != before) {
      ASSERT_EQ(done_steps_, version) << "no version without the step before it";
    }
    visited_ = version;
    if (what == action::wait)
      return check_wait();
    ASSERT_TRUE(owns(version));
    if (what == action::evaluate) {
      ASSERT_TRUE(plan_.evaluates(version));
      ASSERT_EQ(done_steps_, version) << "before it computes";
      ASSERT_NE(last_evaluated_, version) << "once";
      last_evaluated_ = version;
      ++evaluations_;
      return;
    }
    ASSERT_EQ(version, done_steps_) << "each step once";
    ASSERT_LT(version, horizon_sent_);
    ASSERT_FALSE(held_) << "it promised not to";
    ASSERT_TRUE(!plan_.evaluates(version) || last_evaluated_ == version);
    ++done_steps_;
  }

  // It waits for something: a span, the horizon, or the end of a hold.
  void check_wait() const {
    const auto wanted = done_steps_;
    ASSERT_TRUE(!owns(wanted) || held_ || wanted >= horizon_sent_);
  }

  size_t expected_evaluations() const {
    size_t count = 0;
    for (uint64_t version = 1; version <= plan_.last_version(); ++version)
      count += plan_.evaluates(version) ? 1 : 0;
    return count;
  }

  std::mt19937_64 random_;
  timeline plan_;
  replica_rule rule_{timeline{}, 0};
  std::vector<uint64_t> announced_; ///< by shard: versions it has announced
  std::vector<uint64_t> delivered_; ///< by shard: how many of them have arrived
  std::vector<bool> has_rows_;      ///< by step: this replica has a part in it
  uint64_t horizon_sent_ = 0;
  uint64_t visited_ = 0;
  uint64_t done_steps_ = 0;
  std::optional<uint64_t> last_evaluated_;
  size_t evaluations_ = 0;
  bool held_ = false;
  uint64_t lag_max_ = 0;
};

TEST(replica_rule, it_waits_for_every_shard_before_it_computes) {
  replica_rule rule{six_steps(), 2};
  rule.set_horizon({6, true});
  EXPECT_EQ(deeds(rule), "");
  EXPECT_TRUE(rule.announce(0, 1));
  EXPECT_EQ(deeds(rule), "");
  EXPECT_FALSE(rule.owns(0));
  EXPECT_TRUE(rule.announce(0, 0));
  EXPECT_TRUE(rule.owns(0));
  EXPECT_EQ(deeds(rule), "c0");
  EXPECT_EQ(deeds(rule), "") << "a step is computed once";
}

TEST(replica_rule, it_does_nothing_before_it_is_allowed_to) {
  replica_rule rule{six_steps(), 1};
  rule.announce(0, 0);
  EXPECT_EQ(deeds(rule), "");
  rule.set_horizon({1, false});
  EXPECT_EQ(deeds(rule), "c0");
}

TEST(replica_rule, it_evaluates_a_version_before_it_computes_on) {
  auto rule = with_horizon({6, true});
  std::string all;
  for (uint64_t version = 0; version <= 6; ++version) {
    rule.announce(version, 0);
    all += deeds(rule) + "; ";
  }
  EXPECT_EQ(all, "c0; c1; e2 c2; c3; e4 c4; c5; e6; ");
}

TEST(replica_rule, it_stops_at_the_horizon_and_goes_on_when_that_moves) {
  auto rule = with_horizon({2, false});
  for (uint64_t version = 0; version <= 2; ++version) {
    rule.announce(version, 0);
    EXPECT_EQ(deeds(rule), version < 2 ? "c" + std::to_string(version) : "e2");
  }
  rule.set_horizon({4, false});
  EXPECT_EQ(deeds(rule), "c2") << "what was evaluated is not evaluated again";
}

TEST(replica_rule, the_last_version_is_evaluated_though_the_timeline_does_not_ask) {
  auto rule = with_horizon({3, false});
  for (uint64_t version = 0; version <= 3; ++version) {
    rule.announce(version, 0);
    deeds(rule);
  }
  EXPECT_EQ(rule.version(), 3u);
  rule.set_horizon({3, true});
  EXPECT_EQ(deeds(rule), "e3");
}

TEST(replica_rule, a_final_horizon_ahead_has_no_version_before_it_evaluated) {
  auto rule = with_horizon({3, true});
  rule.announce(0, 0);
  rule.announce(1, 0);
  EXPECT_EQ(deeds(rule), "c0 c1");
}

TEST(replica_rule, version_0_is_evaluated_when_training_ends_there) {
  auto rule = with_horizon({0, true});
  rule.announce(0, 0);
  EXPECT_EQ(deeds(rule), "e0");
}

TEST(replica_rule, versions_announced_ahead_are_visited_one_by_one) {
  replica_rule rule{six_steps(), 2};
  rule.set_horizon({6, true});
  rule.announce(0, 0);
  rule.announce(0, 1);
  EXPECT_EQ(deeds(rule), "c0");
  for (uint64_t version = 1; version <= 3; ++version)
    EXPECT_TRUE(rule.announce(version, 0));
  EXPECT_EQ(deeds(rule), "") << "shard 1 has not announced version 1";
  EXPECT_EQ(rule.version(), 0u);
  EXPECT_TRUE(rule.announce(1, 1));
  EXPECT_EQ(deeds(rule), "c1");
  EXPECT_TRUE(rule.announce(3, 1)) << "also for the versions between";
  EXPECT_EQ(deeds(rule), "e2 c2 c3");
}

TEST(replica_rule, announcements_that_say_nothing_new_are_known) {
  replica_rule rule{six_steps(), 2};
  EXPECT_TRUE(rule.announce(3, 0));
  EXPECT_FALSE(rule.announce(3, 0)) << "twice";
  EXPECT_FALSE(rule.announce(2, 0)) << "older";
  EXPECT_TRUE(rule.announce(2, 1)) << "of another shard";
  EXPECT_FALSE(rule.announce(1u << 30, 2)) << "no such shard";
  EXPECT_TRUE(rule.owns(2));
  EXPECT_FALSE(rule.owns(3));
}

TEST(replica_rule, a_shard_without_a_span_is_never_waited_for) {
  replica_rule rule{six_steps(), 3};
  rule.set_horizon({6, true});
  rule.ignore_shard(1);
  EXPECT_FALSE(rule.announce(0, 1));
  rule.announce(0, 0);
  EXPECT_EQ(deeds(rule), "");
  rule.announce(0, 2);
  EXPECT_EQ(deeds(rule), "c0");
}

TEST(replica_rule, on_hold_it_names_the_first_step_it_has_not_started_and_starts_none) {
  auto rule = with_horizon({6, true});
  EXPECT_EQ(rule.hold(), 0u);
  rule.announce(0, 0);
  EXPECT_EQ(deeds(rule), "");
  rule.set_horizon({6, true});
  EXPECT_EQ(deeds(rule), "c0");
  EXPECT_EQ(rule.hold(), 1u) << "step 0 has been started";
  rule.announce(1, 0);
  EXPECT_EQ(deeds(rule), "");
  EXPECT_EQ(rule.version(), 1u);
  EXPECT_EQ(rule.hold(), 1u) << "asked again, the same";
  rule.set_horizon({2, true});
  EXPECT_EQ(deeds(rule), "c1");
}

TEST(replica_rule, on_hold_it_still_evaluates) {
  auto rule = with_horizon({6, true});
  rule.announce(0, 0);
  deeds(rule);
  rule.announce(1, 0);
  deeds(rule);
  rule.hold();
  rule.announce(2, 0);
  EXPECT_EQ(deeds(rule), "e2");
}

TEST(replica_rule, it_can_start_at_a_later_version) {
  replica_rule rule{six_steps(), 1, 3};
  EXPECT_EQ(rule.version(), 3u);
  EXPECT_EQ(rule.hold(), 3u);
  rule.set_horizon({6, true});
  rule.announce(2, 0);
  EXPECT_EQ(deeds(rule), "") << "an older version is of no use";
  rule.announce(3, 0);
  EXPECT_EQ(deeds(rule), "c3");
}

TEST(replica_rule, equal_events_make_equal_rules) {
  auto one = with_horizon({6, true}), other = with_horizon({6, true});
  EXPECT_EQ(one, other);
  one.announce(0, 0);
  EXPECT_NE(one, other);
}

TEST(replica_rule, no_interleaving_of_shards_breaks_its_promises) {
  uint64_t lag_max = 0;
  for (uint64_t seed = 0; seed < 3000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    walk one{seed};
    one.run();
    ASSERT_FALSE(testing::Test::HasFatalFailure());
    lag_max = std::max(lag_max, one.lag_max());
  }
  EXPECT_GE(lag_max, 3u) << "some replicas must have lagged by several versions";
}

} // namespace
} // namespace troupe::replica_rule_test
