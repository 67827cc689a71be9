// What a shard does, alone.

#include "actors/base/version_buffers.hpp"
#include "actors/step/shard.hpp"
#include "coordinators/step/checkpoint_rule.hpp"
#include "models/optimizers/optimizer.hpp"
#include "tests/support/heard.hpp"
#include "tests/support/testing_system.hpp"

#include <caf/scoped_actor.hpp>
#include <caf/send.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

namespace troupe::shard_test {
namespace {

// A shard on its own, between a director that writes down what it hears and replicas that we play.

constexpr size_t parameter_count = 3;

/// Two slices a step, plain descent with rate 1: v + 1 = v - (a + b) / samples.
class shard_alone : public ::testing::Test, public test::testing_system {
protected:
  shard_alone() {
    optimizer_options descent;
    descent.learning_rate = 1;
    options_.rule = make_optimizer(descent);
    options_.versions = std::make_shared<version_buffers>(parameter_count);
    options_.parameter_count = parameter_count;
    options_.plan = {8, 4, 2, 2, std::nullopt, 1}; // two steps an epoch
    std::ranges::fill(options_.versions->of(0).values(), 0.0f);
    options_.versions->of(0).values()[0] = 10;
    options_.checkpoint_every = 3;
    everybody_.term = 1;
    everybody_.number = 1;
    everybody_.director = system_->spawn(test::played_reports, &notes_);
    everybody_.relay = system_->spawn(test::played_relay, &relay_);
    everybody_.replicas = {{system_->spawn(test::played_replica, &replica_), {0, 2}}};
    everybody_.shards = {{system_->spawn(troupe::shard, options_), {0, 1}}};
    send(everybody_);
  }

  /// A shard with another plan, instead of the one there is.
  void begin_again(const timeline& plan) {
    options_.plan = plan;
    caf::anon_send_exit(everybody_.shards[0].actor, caf::exit_reason::kill);
    run();
    everybody_.shards[0].actor = system_->spawn(troupe::shard, options_);
    send(everybody_);
  }

  void saves_every(uint64_t steps) { options_.checkpoint_every = steps; }

  ~shard_alone() override {
    caf::anon_send_exit(everybody_.director, caf::exit_reason::kill);
    caf::anon_send_exit(everybody_.relay, caf::exit_reason::kill);
    caf::anon_send_exit(everybody_.replicas[0].actor, caf::exit_reason::kill);
    caf::anon_send_exit(everybody_.shards[0].actor, caf::exit_reason::kill);
    run();
  }

  template <class... Ts>
  void send(const Ts&... message) {
    caf::anon_send(everybody_.shards[0].actor, message...);
    run();
  }

  contribution work(uint64_t step, tree_node node, float first, uint64_t replica = 0) {
    buffer values{parameter_count};
    values.values()[0] = first;
    return {step,    node,           0, payload{values, 0, parameter_count}, {1.5, 2, 0, 0},
            replica, everybody_.term};
  }

  void pass(std::chrono::milliseconds time) { scheduler_->advance_time(time); }

  trainer_figures ask_for_figures() {
    caf::scoped_actor self{*system_};
    auto handle =
      self->request(everybody_.shards[0].actor, std::chrono::seconds{5}, atom::figures_v);
    run();
    trainer_figures result;
    handle.receive([&](const trainer_figures& news) { result = news; },
                   [](const caf::error&) { FAIL(); });
    return result;
  }

  /// The first parameter of a version, or nothing with the error's code.
  std::optional<float> pull(uint64_t version) {
    caf::scoped_actor self{*system_};
    auto handle =
      self->request(everybody_.shards[0].actor, std::chrono::seconds{5}, atom::pull_v, version);
    run();
    std::optional<float> result;
    handle.receive(
      [&](const parameter_span& span) { result = span.values.values()[0]; },
      [&](const caf::error& problem) { EXPECT_EQ(problem, protocol_error::version_not_held); });
    return result;
  }

  test::heard notes_, replica_, relay_;
  const std::vector<parameter_span>& announced_ = replica_.spans;
  view everybody_;

private:
  shard_options options_;
};

TEST_F(shard_alone, announces_its_start_and_each_version) {
  ASSERT_EQ(announced_.size(), 1u);
  EXPECT_EQ(announced_[0].version, 0u);
  send(work(0, {1, 2}, 4));
  EXPECT_EQ(announced_.size(), 1u) << "half a step moves nothing";
  send(work(0, {0, 1}, 8));
  ASSERT_EQ(announced_.size(), 2u);
  EXPECT_EQ(announced_[1].version, 1u);
  EXPECT_EQ(announced_[1].values.values()[0], 10 - (8 + 4) / 4.0f);
  EXPECT_EQ(announced_[0].values.values()[0], 10) << "an announced version never changes";
}

TEST_F(shard_alone, takes_the_whole_step_from_whoever_adds_it) {
  send(work(0, {0, 2}, 8));
  EXPECT_EQ(pull(1), 10 - 8 / 2.0f);
}

TEST_F(shard_alone, counts_work_that_comes_twice_once) {
  send(work(0, {0, 1}, 8, 0));
  send(work(0, {0, 1}, 8, 1));
  EXPECT_EQ(announced_.size(), 1u);
  send(work(0, {1, 2}, 4));
  send(work(0, {1, 2}, 4));
  EXPECT_EQ(pull(1), 7);
  EXPECT_TRUE(notes_.not_finite.empty());
}

TEST_F(shard_alone, reports_equal_work_with_different_bits_and_applies_nothing_more) {
  send(work(0, {0, 1}, 8, 0));
  send(work(0, {0, 1}, 9, 5));
  ASSERT_EQ(notes_.not_finite.size(), 1u);
  EXPECT_EQ(notes_.not_finite[0].problem, step_problem::conflict);
  EXPECT_EQ(notes_.not_finite[0].slice, 0u);
  EXPECT_EQ(notes_.not_finite[0].replica, 5u);
  send(work(0, {1, 2}, 4));
  EXPECT_EQ(announced_.size(), 1u);
}

TEST_F(shard_alone, other_figures_beside_equal_gradients_conflict_too) {
  auto second = work(0, {0, 1}, 8);
  send(second);
  second.sums.loss_sum = 2;
  send(second);
  ASSERT_EQ(notes_.not_finite.size(), 1u);
  EXPECT_EQ(notes_.not_finite[0].problem, step_problem::conflict);
}

TEST_F(shard_alone, names_work_of_another_shape_and_applies_nothing_more) {
  auto short_one = work(0, {0, 2}, 8, 3);
  short_one.gradient_sum = {short_one.gradient_sum.storage(), 0, 2};
  send(short_one);
  ASSERT_EQ(notes_.not_finite.size(), 1u);
  EXPECT_EQ(notes_.not_finite[0].problem, step_problem::malformed);
  EXPECT_EQ(notes_.not_finite[0].replica, 3u);
  EXPECT_NE(notes_.not_finite[0].what.find("with 2 values from element 0, where 3 from element 0"),
            std::string::npos)
    << notes_.not_finite[0].what;
  send(work(0, {0, 2}, 8));
  EXPECT_EQ(announced_.size(), 1u);
}

TEST_F(shard_alone, ignores_work_of_other_steps_and_nodes) {
  send(work(1, {0, 2}, 8));
  send(work(0, {0, 3}, 8));
  EXPECT_EQ(announced_.size(), 1u);
  send(work(0, {0, 2}, 8));
  send(work(0, {0, 2}, 80)); // of a step gone by
  EXPECT_EQ(pull(1), 6);
}

TEST_F(shard_alone, refuses_what_is_not_finite_and_names_it) {
  send(work(0, {0, 1}, 8, 3));
  send(work(0, {1, 2}, std::numeric_limits<float>::quiet_NaN(), 4));
  ASSERT_EQ(notes_.not_finite.size(), 1u);
  EXPECT_EQ(notes_.not_finite[0].problem, step_problem::not_finite);
  EXPECT_EQ(notes_.not_finite[0].slice, 1u);
  EXPECT_EQ(notes_.not_finite[0].replica, 4u);
  EXPECT_EQ(pull(0), 10) << "version 0 stays";
  EXPECT_EQ(pull(1), std::nullopt) << "version 1 will never be";
}

TEST_F(shard_alone, refuses_a_loss_that_is_not_finite) {
  auto bad = work(0, {0, 2}, 1, 6);
  bad.sums.loss_sum = std::numeric_limits<double>::infinity();
  send(bad);
  ASSERT_EQ(notes_.not_finite.size(), 1u);
  EXPECT_EQ(notes_.not_finite[0].replica, 6u);
}

TEST_F(shard_alone, keeps_the_version_before_and_answers_for_a_later_one_when_it_is_there) {
  send(work(0, {0, 2}, 2));
  send(work(1, {0, 2}, 2));
  EXPECT_EQ(pull(2), 8);
  EXPECT_EQ(pull(1), 9);
  EXPECT_EQ(pull(0), std::nullopt);
  std::optional<float> later;
  caf::scoped_actor self{everybody_.shards[0].actor.home_system()};
  auto handle =
    self->request(everybody_.shards[0].actor, std::chrono::seconds{5}, atom::pull_v, uint64_t{3});
  run();
  send(work(2, {0, 2}, 4));
  handle.receive([&](const parameter_span& span) { later = span.values.values()[0]; },
                 [](const caf::error&) {});
  EXPECT_EQ(later, 6);
}

TEST_F(shard_alone, tells_who_waits_when_there_is_nothing_to_wait_for) {
  caf::scoped_actor self{everybody_.shards[0].actor.home_system()};
  auto handle =
    self->request(everybody_.shards[0].actor, std::chrono::minutes{5}, atom::pull_v, uint64_t{1});
  run();
  send(work(0, {0, 2}, std::numeric_limits<float>::infinity()));
  bool refused = false;
  handle.receive(
    [](const parameter_span&) { FAIL(); },
    [&](const caf::error& problem) { refused = problem == protocol_error::version_not_held; });
  EXPECT_TRUE(refused);
}

TEST_F(shard_alone, keeps_the_book_by_rows) {
  for (uint64_t step = 0; step < 3; ++step)
    send(work(step, {0, 2}, 0));
  send(horizon{{3, true}}); // an interrupt names a version that is there already
  std::vector<training_report> rows;
  for (const auto& report : notes_.reports)
    if (report.is_row)
      rows.push_back(report);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].version, 2u);
  EXPECT_EQ(rows[0].sums.loss_sum, 3);
  EXPECT_EQ(rows[0].sums.sample_count, 4u);
  EXPECT_EQ(rows[1].version, 3u);
  EXPECT_EQ(rows[1].sums.loss_sum, 1.5);
}

TEST_F(shard_alone, tells_the_hash_of_each_rows_version_once) {
  for (uint64_t step = 0; step < 3; ++step)
    send(work(step, {0, 2}, 1));
  ASSERT_EQ(notes_.hashes.size(), 1u) << "an epoch has two steps";
  send(horizon{{3, true}});
  send(horizon{{3, true}});
  ASSERT_EQ(notes_.hashes.size(), 2u) << "the last version is a row";
  EXPECT_EQ(notes_.hashes[1].version, 3u);
  EXPECT_EQ(notes_.hashes[1].blocks, (index_range{0, 1}));
  const std::array<float, parameter_count> after_two{9, 0, 0}; // 10 less 2 means of 1/2
  EXPECT_EQ(notes_.hashes[0], (span_hash{1, 2, {0, 1}, hash_of_blocks(0, after_two)}));
}

TEST_F(shard_alone, marks_the_horizon_once_and_closes_the_book_at_epoch_ends_only) {
  send(horizon{{3, false}});
  for (uint64_t step = 0; step < 3; ++step)
    send(work(step, {0, 2}, 0));
  send(horizon{{3, false}}); // said again
  ASSERT_EQ(notes_.reports.size(), 2u);
  EXPECT_TRUE(notes_.reports[0].is_row);
  EXPECT_FALSE(notes_.reports[0].is_mark);
  const training_report mark{1, 3, {1.5, 2, 0, 0}, false, true, notes_.reports[1].seconds, {}};
  EXPECT_EQ(notes_.reports[1], mark);
  send(horizon{{4, false}});
  send(work(3, {0, 2}, 0));
  ASSERT_EQ(notes_.reports.size(), 3u) << "a row and a mark in one";
  EXPECT_TRUE(notes_.reports[2].is_row && notes_.reports[2].is_mark);
  EXPECT_EQ(notes_.reports[2].sums.sample_count, 4u) << "the whole epoch";
}

TEST_F(shard_alone, tells_no_row_of_an_epoch_that_the_history_leaves_out) {
  begin_again({8, 4, 2, 4, std::nullopt, 0, 2}); // four epochs of two steps, two rows
  for (uint64_t step = 0; step < 4; ++step)
    send(work(step, {0, 2}, 0));
  ASSERT_EQ(notes_.reports.size(), 1u);
  EXPECT_EQ(notes_.reports[0].version, 4u);
  EXPECT_EQ(notes_.reports[0].sums.sample_count, 4u) << "of the last epoch alone";
}

TEST_F(shard_alone, copies_its_state_at_the_versions_to_be_saved_and_at_the_end) {
  for (uint64_t step = 0; step < 4; ++step)
    send(work(step, {0, 2}, 2));
  ASSERT_EQ(relay_.copies.size(), 1u);
  const auto& copy = relay_.copies[0];
  EXPECT_EQ(copy.version, 3u);
  EXPECT_EQ(copy.parameters.values()[0], 7) << "as it was, though a step was applied since";
  EXPECT_EQ(copy.numbers, (shard_numbers{3, 0, {}, true, {1.5, 2, 0, 0}}));
  send(horizon{{4, true}});
  send(horizon{{4, true}});
  ASSERT_EQ(relay_.copies.size(), 2u);
  EXPECT_EQ(relay_.copies[1].version, 4u);
  EXPECT_EQ(relay_.copies[1].numbers.metrics, batch_sums{}) << "an epoch is over";
  send(work(4, {0, 2}, 2));
  EXPECT_EQ(announced_.back().version, 4u) << "what is sent at the end stays as it is";
}

TEST_F(shard_alone, no_version_is_announced_before_its_copy_is_made_and_the_last_one_has_come) {
  everybody_.term = 2;
  everybody_.copy_every = 2;
  send(everybody_);
  send(work(0, {0, 2}, 2));
  EXPECT_TRUE(relay_.copies.empty());
  send(work(1, {0, 2}, 2));
  ASSERT_EQ(relay_.copies.size(), 1u);
  const auto first = relay_.copies[0];
  EXPECT_EQ(first.version, 2u);
  EXPECT_TRUE(first.is_kept);
  EXPECT_FALSE(first.is_saved);
  EXPECT_EQ(announced_.back().version, 2u);
  send(work(2, {0, 2}, 2));
  EXPECT_EQ(relay_.copies.size(), 2u) << "of the checkpoint";
  EXPECT_FALSE(relay_.copies[1].is_kept);
  const auto reports = notes_.reports.size();
  send(work(3, {0, 2}, 2));
  everybody_.number = 2;
  send(everybody_);
  EXPECT_EQ(announced_.back().version, 3u) << "the copy of version 2 is under way";
  EXPECT_EQ(notes_.reports.size(), reports);
  EXPECT_EQ(pull(3), 7);
  send(atom::save_v, uint64_t{1});
  EXPECT_EQ(relay_.copies.size(), 2u);
  send(atom::save_v, uint64_t{2});
  ASSERT_EQ(relay_.copies.size(), 3u);
  EXPECT_EQ(relay_.copies[2].version, 4u);
  EXPECT_EQ(announced_.back().version, 4u);
  EXPECT_EQ(pull(4), 6);
  EXPECT_EQ(notes_.reports.size(), reports + 1);
  EXPECT_EQ(first.parameters.values()[0], 8) << "a copy does not change";
}

TEST_F(shard_alone, keeps_the_version_at_which_all_stand_whatever_copy_is_under_way) {
  everybody_.term = 2;
  everybody_.copy_every = 2;
  send(everybody_);
  for (uint64_t step = 0; step < 3; ++step)
    send(work(step, {0, 2}, 2));
  const auto copies = relay_.copies.size();
  send(horizon{{3, false, {}, true}});
  send(horizon{{3, false, {}, true}});
  ASSERT_EQ(relay_.copies.size(), copies + 1) << "once";
  const auto copy = relay_.copies.back();
  EXPECT_EQ(copy.version, 3u);
  EXPECT_TRUE(copy.is_cut);
  EXPECT_FALSE(copy.is_kept) << "it goes to nobody";
  EXPECT_FALSE(copy.is_saved);
  send(horizon{{4, false, {}, true}}); // another shard was there before it heard of 3
  send(atom::save_v, uint64_t{2});
  send(work(3, {0, 2}, 2));
  ASSERT_EQ(relay_.copies.size(), copies + 2);
  EXPECT_EQ(relay_.copies.back().version, 4u);
  EXPECT_TRUE(relay_.copies.back().is_kept) << "a copy that was due is one for the cut, too";
  EXPECT_FALSE(relay_.copies.back().is_cut);
  EXPECT_EQ(copy.parameters.values()[0], 7) << "a copy does not change";
}

TEST_F(shard_alone, keeps_the_version_at_which_all_stand_where_nothing_else_is_copied) {
  everybody_.term = 2;
  send(everybody_);
  send(horizon{{1, false, {}, true}});
  send(work(0, {0, 2}, 2));
  ASSERT_EQ(relay_.copies.size(), 1u);
  EXPECT_EQ(relay_.copies[0].version, 1u);
  EXPECT_TRUE(relay_.copies[0].is_cut);
  EXPECT_EQ(announced_.back().version, 1u);
}

// It may have lain elsewhere; and whoever keeps the metrics then needs the sums.
TEST_F(shard_alone, a_term_begins_with_a_copy_that_has_the_sums_since_the_last_row) {
  shard_start start{2, std::make_shared<version_buffers>(parameter_count), {}, {}};
  start.numbers.metrics = {4, 5, 0, 0};
  std::ranges::fill(start.versions->of(3).values(), 0.0f);
  send(start);
  everybody_.term = 2;
  everybody_.start_version = 3;
  everybody_.copy_every = 2;
  everybody_.shards.insert(everybody_.shards.begin(),
                           everybody_.shards[0]); // another one keeps the metrics
  everybody_.shards[1].blocks = {1, 1};
  everybody_.index = 0;
  send(everybody_);
  ASSERT_EQ(relay_.copies.size(), 1u);
  EXPECT_EQ(relay_.copies[0].version, 3u);
  EXPECT_EQ(relay_.copies[0].numbers.metrics, (batch_sums{4, 5, 0, 0}));
  everybody_.shards.erase(everybody_.shards.begin());
}

TEST_F(shard_alone, copies_a_stop_and_no_end_of_the_plan_where_that_is_all_that_is_saved) {
  saves_every(checkpoint_at_stop);
  begin_again({8, 4, 2, 2, std::nullopt, 1});
  for (uint64_t step = 0; step < 3; ++step)
    send(work(step, {0, 2}, 2));
  EXPECT_TRUE(relay_.copies.empty());
  send(horizon{{3, true}});
  ASSERT_EQ(relay_.copies.size(), 1u);
  EXPECT_EQ(relay_.copies[0].version, 3u);
  begin_again({8, 4, 2, 2, std::nullopt, 1});
  for (uint64_t step = 0; step < 4; ++step)
    send(work(step, {0, 2}, 2));
  send(horizon{{4, true}});
  EXPECT_EQ(relay_.copies.size(), 1u);
}

TEST_F(shard_alone, begins_a_new_term_where_its_view_says) {
  send(work(0, {0, 2}, 2));
  shard_start start{2, std::make_shared<version_buffers>(parameter_count), {}, {}};
  start.numbers.metrics = {4, 5, 0, 0};
  std::ranges::fill(start.versions->of(3).values(), 0.0f);
  start.versions->of(3).values()[0] = 50;
  send(start);
  EXPECT_EQ(pull(1), 9) << "not before the view";
  everybody_.term = 2;
  everybody_.start_version = 3;
  send(everybody_);
  EXPECT_EQ(pull(3), 50);
  EXPECT_EQ(pull(1), std::nullopt);
  EXPECT_EQ(announced_.back().term, 2u);
  EXPECT_EQ(announced_.back().version, 3u);
  auto late = work(3, {0, 2}, 80);
  late.term = 1;
  send(late);
  send(work(3, {0, 2}, 2));
  EXPECT_EQ(pull(4), 49);
  EXPECT_EQ(notes_.reports.back().sums, (batch_sums{5.5, 7, 0, 0})) << "the metrics go on";
  EXPECT_EQ(notes_.reports.back().term, 2u);
}

// What a message says of sizes is not copied by before it is looked at.
TEST_F(shard_alone, a_state_of_another_shape_is_named_and_nothing_begins) {
  shard_start start{2, std::make_shared<version_buffers>(parameter_count), {}, {}};
  std::ranges::fill(start.versions->of(3).values(), 0.0f);
  everybody_.start_version = 3;
  const payload slot{buffer{parameter_count}, 0, parameter_count};
  const std::pair<std::vector<payload>, std::vector<double>> odd[] = {
    {{}, std::vector<double>(200'000)}, {{slot}, {}}, {{slot, slot}, {1}}};
  for (const auto& [slots, numbers] : odd) {
    ++everybody_.term;
    start.term = everybody_.term;
    start.slots = slots;
    start.numbers.numbers = numbers;
    send(start);
    send(everybody_);
    ASSERT_FALSE(notes_.not_finite.empty());
    const auto& report = notes_.not_finite.back();
    EXPECT_EQ(report.term, everybody_.term);
    EXPECT_EQ(report.problem, step_problem::malformed);
    EXPECT_NE(report.what.find("a state to begin with of " + std::to_string(slots.size()) +
                               " optimizer slots and " + std::to_string(numbers.size()) +
                               " numbers"),
              std::string::npos)
      << report.what;
    EXPECT_EQ(announced_.back().version, 0u);
  }
}

TEST_F(shard_alone, a_new_view_of_the_term_hears_of_both_versions_again) {
  send(work(0, {0, 2}, 2));
  everybody_.number = 2;
  send(everybody_);
  ASSERT_EQ(announced_.size(), 4u);
  EXPECT_EQ(announced_[2].version, 0u);
  EXPECT_EQ(announced_[3].version, 1u);
}

TEST_F(shard_alone, in_a_wired_run_the_node_hears_of_versions) {
  everybody_.number = 2;
  everybody_.wired = true;
  send(everybody_);
  send(work(0, {0, 2}, 2));
  EXPECT_EQ(announced_.size(), 1u) << "that of the beginning";
  ASSERT_EQ(relay_.spans.size(), 2u);
  EXPECT_EQ(relay_.spans[1].version, 1u);
}

TEST_F(shard_alone, ignores_work_for_another_span) {
  auto elsewhere = work(0, {0, 2}, 8);
  elsewhere.first_element = 4096;
  send(elsewhere);
  EXPECT_EQ(announced_.size(), 1u);
}

TEST_F(shard_alone, an_older_view_changes_nothing) {
  send(work(0, {0, 2}, 2));
  send(everybody_);
  EXPECT_EQ(announced_.size(), 2u);
  EXPECT_EQ(pull(1), 9);
}

// What a shard that keeps the metrics says of replicas.
TEST_F(shard_alone, says_who_came_last_by_name) {
  everybody_.number = 2;
  everybody_.replicas[0] = {everybody_.replicas[0].actor, {0, 1}, {"left", 0}};
  everybody_.replicas.push_back({everybody_.replicas[0].actor, {1, 2}, {"right", 3}});
  send(everybody_);
  send(work(0, {0, 1}, 8, 0));
  pass(std::chrono::milliseconds{30});
  auto late = work(0, {1, 2}, 4, 1);
  late.computed = std::chrono::milliseconds{20};
  send(late);
  const auto figures = ask_for_figures();
  EXPECT_EQ(figures.barrier_count, 1u);
  ASSERT_GE(figures.replicas.size(), 2u);
  const auto& right = figures.replicas.back();
  EXPECT_EQ(right.who, (replica_name{"right", 3}));
  EXPECT_EQ(right.figures.last_count, 1u);
  EXPECT_EQ(right.figures.last_by, std::chrono::milliseconds{30});
  EXPECT_EQ(right.figures.computed, std::chrono::milliseconds{20});
  const auto& left = figures.replicas[figures.replicas.size() - 2];
  EXPECT_EQ(left.who, (replica_name{"left", 0}));
  EXPECT_EQ(left.figures.waited, std::chrono::milliseconds{30});
  send(work(1, {0, 2}, 8, 0));
  EXPECT_EQ(ask_for_figures().barrier_count, 2u);
}

} // namespace
} // namespace troupe::shard_test
