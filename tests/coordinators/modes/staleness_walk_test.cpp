// Seeded random walks through the staleness rule, whose invariants are checked after every event by
// a book that is kept apart; and trainers of different speed in virtual time.

#include "coordinators/modes/staleness_rule.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <queue>
#include <random>
#include <set>

namespace troupe::staleness_walk_test {
namespace {

using verdict = staleness_verdict;

staleness_options random_options(std::mt19937_64& random, size_t trainer_count) {
  staleness_options options;
  options.mode = static_cast<consistency_kind>(1 + random() % 4);
  options.staleness_max = random() % 5;
  options.first_count = 1 + random() % trainer_count;
  options.drop_late = random() % 2 == 0;
  options.lag_ratio = 0.1 + 0.3 * static_cast<double>(random() % 6);
  if (random() % 3 == 0)
    options.discards_in_row_max.reset();
  else
    options.discards_in_row_max = random() % 3;
  return options;
}

// What a bystander knows: it watches events and verdicts, and never asks the rule what it thinks.
class walk {
public:
  explicit walk(uint64_t seed)
    : random_(seed),
      count_(1 + random_() % 6),
      options_(random_options(random_, count_)),
      rule_(options_, count_),
      lives_(count_, true),
      finished_(count_),
      row_(count_) {}

  void run(int event_count) {
    for (int event = 0; event < event_count; ++event) {
      const auto trainer = random_() % count_;
      switch (random_() % 16) {
      case 0:
        lose(trainer);
        break;
      case 1:
        join(trainer);
        break;
      case 2:
        push_again();
        break;
      default:
        if (open_.contains(trainer))
          push(trainer);
        else
          pull(trainer);
      }
      somebody_can_go_on();
      if (testing::Test::HasFailure())
        return;
    }
    EXPECT_EQ(applied_.size(), applied_count() + rule_.held_count());
    EXPECT_EQ(moved_, applied_count());
  }

private:
  struct open_pull {
    uint64_t ticket;
    uint64_t updates;
  };

  uint64_t slowest() const {
    uint64_t result = ~uint64_t{0};
    for (size_t i = 0; i < count_; ++i)
      if (lives_[i])
        result = std::min(result, finished_[i]);
    return result;
  }
  uint64_t living() const { return static_cast<uint64_t>(std::ranges::count(lives_, true)); }
  uint64_t applied_count() const {
    uint64_t result = 0;
    for (size_t i = 0; i < count_; ++i)
      result += rule_.account(i).applied_count;
    return result;
  }

  void pull(size_t trainer) {
    const auto decision = rule_.on_pull(trainer);
    if (!lives_[trainer]) {
      EXPECT_EQ(decision.verdict, verdict::refuse);
      return;
    }
    if (decision.verdict == verdict::wait) {
      waiting_.insert(trainer);
      return;
    }
    EXPECT_EQ(decision.verdict, verdict::proceed);
    waiting_.erase(trainer);
    open_[trainer] = {decision.ticket, rule_.update_count()};
    if (options_.mode == consistency_kind::bounded) {
      EXPECT_LE(finished_[trainer] - slowest(), options_.staleness_max) << "too far ahead";
    }
  }

  void push(size_t trainer) {
    const auto pulled = open_.at(trainer);
    const auto updates_before = rule_.update_count();
    const auto decision = rule_.on_gradient(trainer, pulled.ticket);
    open_.erase(trainer);
    used_.push_back({trainer, pulled.ticket});
    ++finished_[trainer];
    EXPECT_EQ(decision.staleness, updates_before - pulled.updates);
    if (decision.verdict == verdict::refuse) {
      EXPECT_EQ(decision.reason, staleness_reason::late);
      EXPECT_GT(living(), 1u) << "the only trainer lost a gradient";
      EXPECT_GT(decision.staleness, 0u) << "discarded although nobody else moved anything";
      ++row_[trainer];
      EXPECT_LE(row_[trainer], options_.discards_in_row_max.value_or(~size_t{0}));
      const bool may_discard =
        options_.mode == consistency_kind::lag ||
        (options_.mode == consistency_kind::half_synchronous && options_.drop_late);
      EXPECT_TRUE(may_discard);
    } else {
      row_[trainer] = 0;
      EXPECT_TRUE(applied_.insert(pulled.ticket).second) << "applied twice";
    }
    moved_ += decision.applied.size();
    release();
  }

  // A gradient that comes again, from anybody: refused, and nothing changes.
  void push_again() {
    if (used_.empty())
      return;
    const auto [trainer, ticket] = used_[random_() % used_.size()];
    const auto before = rule_;
    EXPECT_EQ(rule_.on_gradient(trainer, ticket).verdict, verdict::refuse);
    EXPECT_EQ(rule_, before);
  }

  void lose(size_t trainer) {
    if (living() == 1)
      return;
    moved_ += rule_.on_lost(trainer).applied.size();
    if (open_.contains(trainer))
      used_.push_back({trainer, open_[trainer].ticket});
    lives_[trainer] = false;
    open_.erase(trainer);
    waiting_.erase(trainer);
    release();
  }

  void join(size_t trainer) {
    if (lives_[trainer])
      return;
    finished_[trainer] = std::max(finished_[trainer], slowest());
    lives_[trainer] = true;
    rule_.on_joined(trainer);
  }

  void release() {
    for (auto trainer : rule_.released()) {
      EXPECT_TRUE(waiting_.contains(trainer)) << "released without waiting";
      pull(trainer);
      EXPECT_TRUE(open_.contains(trainer)) << "released, and told to wait again";
    }
  }

  // No deadlock: somebody who lives computes, or would get work if it asked.
  void somebody_can_go_on() const {
    for (size_t i = 0; i < count_; ++i) {
      auto copy = rule_;
      if (lives_[i] && (open_.contains(i) || copy.on_pull(i).verdict == verdict::proceed))
        return;
    }
    ADD_FAILURE() << "all wait for each other, mode " << name_of(options_.mode);
  }

  std::mt19937_64 random_;
  size_t count_;
  staleness_options options_;
  staleness_rule rule_;
  std::vector<bool> lives_;
  std::vector<uint64_t> finished_;
  std::vector<uint64_t> row_;
  std::map<size_t, open_pull> open_;
  std::set<size_t> waiting_;
  std::set<uint64_t> applied_; ///< or held
  size_t moved_ = 0;           ///< gradients that were said to move the model
  std::vector<std::pair<size_t, uint64_t>> used_;
};

// Trainers that need a given time for a gradient, and pull again at once (or when released).
class company {
public:
  company(const staleness_options& options, std::vector<uint64_t> times)
    : rule_(options, times.size()), times_(std::move(times)), tickets_(times_.size()) {
    for (size_t i = 0; i < times_.size(); ++i)
      begin(i, 0);
  }

  const staleness_rule& run(uint64_t until) {
    while (!done_.empty() && std::get<0>(done_.top()) <= until) {
      const auto [when, trainer] = done_.top();
      done_.pop();
      rule_.on_gradient(trainer, tickets_[trainer]);
      begin(trainer, when);
      for (auto other : rule_.released())
        begin(other, when);
    }
    return rule_;
  }

private:
  void begin(size_t trainer, uint64_t now) {
    const auto decision = rule_.on_pull(trainer);
    if (decision.verdict != verdict::proceed)
      return;
    tickets_[trainer] = decision.ticket;
    done_.push({now + times_[trainer], trainer});
  }

  using finished = std::pair<uint64_t, size_t>;
  staleness_rule rule_;
  std::vector<uint64_t> times_;
  std::vector<uint64_t> tickets_;
  std::priority_queue<finished, std::vector<finished>, std::greater<>> done_;
};

// Trainer 0 at half speed; the others differ by a little, as they do.
std::vector<uint64_t> one_at_half_speed(size_t count) {
  std::vector<uint64_t> times;
  for (size_t i = 0; i < count; ++i)
    times.push_back(i == 0 ? 2000 : 1000 + i);
  return times;
}

TEST(staleness_walk, ten_thousand_seeds_keep_the_invariants) {
  for (uint64_t seed = 0; seed < 10'000 && !testing::Test::HasFailure(); ++seed) {
    walk x{seed};
    x.run(60);
    EXPECT_FALSE(testing::Test::HasFailure()) << "seed " << seed;
  }
}

TEST(staleness_walk, a_trainer_at_half_speed_loses_no_more_than_its_bound) {
  for (size_t count : {4, 8, 16})
    for (size_t row : {1, 2}) {
      staleness_options options;
      options.mode = consistency_kind::lag; // the usual ratio of 1.5
      options.discards_in_row_max = row;
      company x{options, one_at_half_speed(count)};
      const auto& slow = x.run(1'000'000).account(0);
      const auto total = slow.applied_count + slow.discarded_count;
      EXPECT_NEAR(static_cast<double>(total), 500, 2);
      // At most `row` of any row + 1.
      EXPECT_GE(slow.applied_count * (row + 1), total) << count << " trainers";
      EXPECT_LE(slow.discards_in_row_max, row);
    }
}

TEST(staleness_walk, without_the_bound_it_loses_all) {
  staleness_options options;
  options.mode = consistency_kind::lag;
  options.discards_in_row_max.reset();
  for (size_t count : {8, 16}) {
    company x{options, one_at_half_speed(count)};
    const auto& rule = x.run(1'000'000);
    EXPECT_LE(rule.account(0).applied_count, 1u);
    EXPECT_GE(rule.account(0).discarded_count, 498u);
    for (size_t i = 1; i < count; ++i)
      EXPECT_EQ(rule.account(i).discarded_count, 0u) << "at even speed nobody loses anything";
  }
}

TEST(staleness_walk, bounded_staleness_paces_all_by_the_slowest) {
  for (size_t bound : {0, 1, 4}) {
    staleness_options options;
    options.mode = consistency_kind::bounded;
    options.staleness_max = bound;
    company x{options, {2000, 1000, 1010}};
    const auto& rule = x.run(200'000);
    EXPECT_EQ(rule.clock(0), 100u);
    for (size_t i : {1, 2}) {
      EXPECT_LE(rule.clock(i), 101 + bound);
      EXPECT_GE(rule.clock(i), 100 + bound) << "and not slower than the bound allows";
    }
  }
}

TEST(staleness_walk, half_synchronous_steps_go_at_the_speed_of_the_first) {
  staleness_options options;
  options.mode = consistency_kind::half_synchronous;
  options.first_count = 3;
  company x{options, {5000, 1000, 1010, 1020}};
  const auto& rule = x.run(102'000);
  EXPECT_GE(rule.update_count(), 100u) << "the slow one holds nobody up";
  EXPECT_EQ(rule.account(0).discarded_count, 0u);
  EXPECT_NEAR(static_cast<double>(rule.account(0).applied_count), 20, 1);
  options.drop_late = true;
  company dropping{options, {5000, 1000, 1010, 1020}};
  const auto& drops = dropping.run(102'000).account(0);
  EXPECT_EQ(drops.applied_count + drops.discarded_count, 20u);
  EXPECT_GE(drops.applied_count, 10u) << "not twice in a row";
}

} // namespace
} // namespace troupe::staleness_walk_test
