// What a job may say of its modes, what it may not combine, and where rounds end.

#include "coordinators/job/job_check.hpp"
#include "coordinators/job/training_modes.hpp"

#include "coordinators/job/resolve.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <set>

namespace troupe::training_modes_test {
namespace {

const data_shape rows{200, 50, 8, 3, true};

job base() {
  job x;
  x.name = "base";
  x.data.file = "rows.csv";
  return x;
}

job merging() {
  auto x = base();
  x.training.strategy = strategy_kind::parameters;
  x.training.members = 4;
  return x;
}

job asynchronous(consistency_kind kind = consistency_kind::asynchronous) {
  auto x = base();
  x.training.consistency = kind;
  return x;
}

using change = std::function<void(job&)>;

std::string first_problem(job x, const change& apply) {
  apply(x);
  const auto found = problems(x);
  return found.empty() ? "" : found.front().key + ": " + found.front().why;
}

std::string first_problem_with_data(job x, const change& apply) {
  apply(x);
  EXPECT_EQ(problems(x), std::vector<job_problem>{});
  const auto found = problems_with_data(resolve(x, rows, 2), rows);
  return found.empty() ? "" : found.front().key + ": " + found.front().why;
}

std::string identity(
  job x, const change& apply = [](job&) {}) {
  apply(x);
  return identity_text(resolve(x, rows, 2), "0123");
}

TEST(training_modes, jobs_of_each_mode_have_no_problems) {
  for (const auto& x :
       {base(), merging(), asynchronous(), asynchronous(consistency_kind::bounded),
        asynchronous(consistency_kind::half_synchronous), asynchronous(consistency_kind::lag)}) {
    EXPECT_EQ(problems(x), std::vector<job_problem>{});
    EXPECT_EQ(problems_with_data(resolve(x, rows, 2), rows), std::vector<job_problem>{});
  }
}

TEST(training_modes, what_is_not_built_is_refused_by_name) {
  const auto refused = [](job x, const change& apply) {
    return first_problem(std::move(x), apply);
  };
  EXPECT_EQ(refused(merging(), [](job& x) { x.optimizer.kind = optimizer_kind::lbfgs; }),
            "optimizer.kind: the strategy parameters needs a rule that works element by element, "
            "lbfgs does not");
  EXPECT_EQ(refused(asynchronous(), [](job& x) { x.optimizer.kind = optimizer_kind::adafactor; }),
            "optimizer.kind: asynchronous training needs a rule that works element by element, "
            "adafactor does not");
  EXPECT_EQ(
    refused(merging(), [](job& x) { x.training.consistency = consistency_kind::asynchronous; }),
    "training.consistency: the strategy parameters merges in rounds that all members take "
    "part in");
  EXPECT_EQ(refused(merging(), [](job& x) { x.training.slices = 2; }),
            "training.slices: each member trains on one slice of a step");
}

TEST(training_modes, what_belongs_to_another_mode_is_refused) {
  EXPECT_EQ(first_problem(base(), [](job& x) { x.training.members = 2; }),
            "training.members: belongs to the strategy parameters");
  EXPECT_EQ(first_problem(asynchronous(), [](job& x) { x.training.local_steps = 2; }),
            "training.local_steps: belongs to the strategy parameters");
  EXPECT_EQ(first_problem(base(), [](job& x) { x.merge.members.rule = merge_rule::krum; }),
            "merge.rule: the section merge belongs to the strategies parameters and federated");
  EXPECT_EQ(first_problem(merging(), [](job& x) { x.training.delay_compensation = 0.1; }),
            "training.delay_compensation: in synchronous training nothing is late");
  EXPECT_EQ(first_problem(base(), [](job& x) { x.training.late_steps = step_scaling::inverse; }),
            "training.late_steps: in synchronous training nothing is late");
  for (const auto& x : {merging(), asynchronous()})
    EXPECT_EQ(first_problem(x, [](job& y) { y.training.exchange = number_format::bf16; }),
              "training.exchange: rounds the gradients that synchronous training adds");
}

TEST(training_modes, options_out_of_range_are_named) {
  const std::vector<std::pair<std::string, change>> cases{
    {"training.members", [](job& x) { x.training.members = 0; }},
    {"training.local_steps", [](job& x) { x.training.local_steps = 0; }},
    {"merge.rule", [](job& x) { x.merge.members.rule = merge_rule::regression_mean; }},
    {"merge.weighting", [](job& x) { x.merge.members.weighting = merge_weighting::best; }},
    {"merge.elastic_alpha", [](job& x) { x.merge.elastic_alpha = 0; }},
    {"merge.elastic_alpha", [](job& x) { x.merge.elastic_alpha = 1.5; }},
    {"merge.elastic_alpha",
     [](job& x) { x.merge.elastic_alpha = 0.5, x.merge.outer.kind = outer_kind::adam; }},
    {"merge.outer_rate",
     [](job& x) { x.merge.outer.kind = outer_kind::sgd, x.merge.outer.learning_rate = 0; }},
    {"merge.outer_rate", [](job& x) { x.merge.outer.learning_rate = 0.5; }},
    {"merge.outer_momentum", [](job& x) { x.merge.outer.momentum = 0.5; }},
    {"merge.outer_nesterov", [](job& x) { x.merge.outer.nesterov = true; }},
    {"merge.averaging_decay", [](job& x) { x.merge.averaging.decay = 1; }},
    {"merge.flip_factor", [](job& x) { x.merge.flip_factor = 0; }}};
  for (const auto& [key, apply] : cases)
    EXPECT_EQ(first_problem(merging(), apply).substr(0, key.size() + 1), key + ":");
  const auto lag = asynchronous(consistency_kind::lag);
  for (const double ratio : {0.0, -1.5, 1e6, 1e9})
    EXPECT_EQ(first_problem(lag, [=](job& x) { x.training.lag_ratio = ratio; }),
              "training.consistency: lag must be in (0, 1000000)")
      << ratio;
  EXPECT_EQ(first_problem(lag, [](job& x) { x.training.lag_ratio = 999'999; }), "");
  EXPECT_EQ(first_problem(asynchronous(consistency_kind::half_synchronous),
                          [](job& x) { x.training.delay_compensation = 0.04; }),
            "training.delay_compensation: corrects gradients that are applied on their own");
}

TEST(training_modes, what_does_not_fit_the_data_is_named) {
  EXPECT_EQ(first_problem_with_data(merging(), [](job& x) { x.training.members = 33; }),
            "training.members: 33 members share steps of 32 rows");
  EXPECT_EQ(first_problem_with_data(merging(), [](job& x) { x.training.local_steps = 8; }),
            "training.local_steps: a round ends with its epoch, which has 7 steps");
  EXPECT_EQ(first_problem_with_data(merging(), [](job& x) { x.merge.flipped_members = 5; }),
            "merge.flipped_members: there are 4 members");
  EXPECT_EQ(first_problem_with_data(merging(),
                                    [](job& x) {
                                      x.merge.members.rule = merge_rule::krum,
                                      x.merge.members.faulty_count = 2;
                                    }),
            "training.members: krum needs at least 7 members, there are 4");
  const auto elastic = [](double alpha) {
    return first_problem_with_data(merging(), [=](job& x) { x.merge.elastic_alpha = alpha; });
  };
  EXPECT_EQ(elastic(0.25), "");
  EXPECT_EQ(elastic(0.26), "merge.elastic_alpha: the members together would draw the centre beyond "
                           "themselves: this times the 4 members is above 1");
  EXPECT_EQ(first_problem_with_data(asynchronous(consistency_kind::half_synchronous),
                                    [](job& x) { x.training.first_count = 3; }),
            "training.consistency: the first 3 of 2 replicas never come");
}

// In a cluster file the nodes have replicas, and training.replicas is refused.
TEST(training_modes, more_replicas_are_asked_for_wherever_they_are_named) {
  auto x = asynchronous(consistency_kind::half_synchronous);
  x.training.first_count = 3;
  const auto found = problems_with_data(resolve(x, rows, 2), rows);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].hint, "use more replicas, or set first to less");
}

TEST(training_modes, members_are_the_slices_and_asynchronous_steps_have_one) {
  auto x = resolve(merging(), rows, 8);
  EXPECT_EQ(x.training.slices, 4u);
  EXPECT_EQ(x.training.members, 4u);
  EXPECT_EQ(x.training.replicas, 4u);
  EXPECT_EQ(x.training.local_steps, 7u); // an epoch's, at 32 rows a step
  auto short_steps = merging();
  short_steps.training.batch_size = 4;
  EXPECT_EQ(resolve(short_steps, rows, 8).training.local_steps, default_local_steps);
  EXPECT_EQ(resolve(x, rows, 8), x);
  auto by_slices = merging();
  by_slices.training.members.reset();
  by_slices.training.slices = 3;
  EXPECT_EQ(resolve(by_slices, rows, 8).training.members, 3u);
  auto with_slices = asynchronous();
  with_slices.training.slices = 2;
  EXPECT_EQ(problems(with_slices), std::vector<job_problem>{}) << "they do not count";
  EXPECT_EQ(resolve(with_slices, rows, 8), resolve(asynchronous(), rows, 8));
  x = resolve(asynchronous(), rows, 8);
  EXPECT_EQ(x.training.slices, 1u);
  EXPECT_EQ(x.training.replicas, 8u);
}

TEST(training_modes, identity_follows_what_a_mode_uses_and_nothing_else) {
  const std::vector<change> matter{
    [](job& x) { x.training.members = 5; },
    [](job& x) { x.training.local_steps = 3; },
    [](job& x) { x.merge.members.rule = merge_rule::median; },
    [](job& x) { x.merge.members.weighting = merge_weighting::equal; },
    [](job& x) { x.merge.members.trimmed_count = 2; },
    [](job& x) { x.merge.members.faulty_count = 1; },
    [](job& x) { x.merge.members.kept_count = 1; },
    [](job& x) { x.merge.elastic_alpha = 0.2; },
    [](job& x) { x.merge.outer.kind = outer_kind::sgd; },
    [](job& x) { x.merge.outer.kind = outer_kind::yogi; },
    [](job& x) { x.merge.averaging.kind = averaging_kind::mean; },
    [](job& x) { x.merge.flipped_members = 1; }};
  std::set<std::string> seen{identity(merging())};
  for (const auto& apply : matter)
    EXPECT_TRUE(seen.insert(identity(merging(), apply)).second) << &apply - matter.data();
  EXPECT_EQ(identity(merging(), [](job& x) { x.training.replicas = 3; }), identity(merging()));
  EXPECT_EQ(identity(merging(), [](job& x) { x.merge.flip_factor = 3; }), identity(merging()));
  EXPECT_EQ(identity(base()).find("merge"), std::string::npos);
  EXPECT_NE(identity(asynchronous(), [](job& x) { x.training.replicas = 3; }),
            identity(asynchronous()));
  const auto bounded = asynchronous(consistency_kind::bounded);
  EXPECT_NE(identity(bounded, [](job& x) { x.training.staleness_max = 3; }), identity(bounded));
}

TEST(training_modes, rounds_end_with_their_epoch_and_with_training) {
  timeline plan;
  plan.row_count = 100;
  plan.batch_size = 10;
  plan.slice_count = 4;
  plan.epoch_count = 2;
  EXPECT_EQ(round_end(plan, 0, 4), 4u);
  EXPECT_EQ(round_end(plan, 4, 4), 8u);
  EXPECT_EQ(round_end(plan, 8, 4), 10u);
  EXPECT_EQ(round_end(plan, 10, 40), 20u);
  plan.step_limit = 15;
  EXPECT_EQ(round_end(plan, 12, 4), 15u);
}

TEST(training_modes, a_step_too_small_for_all_members_joins_the_round_before) {
  timeline plan;
  plan.row_count = 93; // the tenth step has three rows
  plan.batch_size = 10;
  plan.slice_count = 4;
  EXPECT_EQ(round_end(plan, 8, 1), 10u);
  EXPECT_EQ(round_end(plan, 6, 3), 10u);
  EXPECT_EQ(round_end(plan, 6, 2), 8u);
  plan.slice_count = 3;
  EXPECT_EQ(round_end(plan, 8, 1), 9u);
}

/// Ten steps an epoch, in rounds of so many, by four members.
job in_rounds(uint64_t local_steps, uint64_t checkpoint_every = 0) {
  auto x = merging();
  x.training.batch_size = 20;
  x.training.local_steps = local_steps;
  x.training.epochs = 3;
  x.checkpoint.every_steps = checkpoint_every;
  return x;
}

uint64_t resolved_interval(const job& x) {
  return resolve(x, rows, 2).checkpoint.every_steps;
}

TEST(training_modes, rounds_are_checkpointed_at_their_ends) {
  EXPECT_EQ(resolved_interval(in_rounds(5)), 0u);
  EXPECT_EQ(resolved_interval(in_rounds(5, 1)), 5u);
  EXPECT_EQ(resolved_interval(in_rounds(5, 6)), 10u);
  EXPECT_EQ(resolved_interval(in_rounds(4, 1)), 10u) << "rounds end at 4, 8 and 10";
  EXPECT_EQ(resolved_interval(in_rounds(1, 3)), 3u);
  auto joining = in_rounds(1, 3);
  joining.training.batch_size = 22; // the tenth step has two rows, and joins the round before
  EXPECT_EQ(resolved_interval(joining), 10u);
  auto unordered = asynchronous();
  unordered.checkpoint.every_steps = 3;
  EXPECT_EQ(resolved_interval(unordered), 3u);
}

// A walk over all rounds is the witness.
TEST(training_modes, longer_runs_have_the_versions_at_which_rounds_end) {
  for (const size_t batch_size : {20, 22})
    for (uint64_t steps = 1; steps <= 10; ++steps) {
      auto x = in_rounds(steps);
      x.training.batch_size = batch_size;
      x = resolve(x, rows, 2);
      const auto plan = timeline_of(x, rows);
      std::set<uint64_t> ends{0};
      while (*ends.rbegin() < plan.last_version())
        ends.insert(round_end(plan, *ends.rbegin(), steps));
      for (uint64_t version = 0; version <= plan.last_version(); ++version)
        EXPECT_EQ(is_version_of_longer_runs(x, plan, version), ends.contains(version))
          << batch_size << ' ' << steps << ' ' << version;
      auto written = in_rounds(steps, 1);
      written.training.batch_size = batch_size;
      for (auto due = resolved_interval(written); due <= plan.last_version();
           due += resolved_interval(written))
        EXPECT_TRUE(ends.contains(due)) << batch_size << ' ' << steps << ' ' << due;
    }
  const auto x = resolve(asynchronous(), rows, 2);
  EXPECT_TRUE(is_version_of_longer_runs(x, timeline_of(x, rows), 3));
}

TEST(training_modes, a_server_saves_what_each_member_has) {
  const auto shape_with = [](job x, const change& apply) {
    apply(x);
    return server_state_of(resolve(x, rows, 2));
  };
  const change nothing = [](job&) {};
  const change adam = [](job& x) { x.optimizer.kind = optimizer_kind::adam; };
  EXPECT_EQ(shape_with(merging(), nothing), (state_shape{1, 1}));
  EXPECT_EQ(shape_with(merging(), adam), (state_shape{1 + 4 * 2, 1}));
  EXPECT_EQ(shape_with(merging(), [](job& x) { x.merge.elastic_alpha = 0.1; }),
            (state_shape{1 + 4, 1}));
  EXPECT_EQ(shape_with(asynchronous(), adam), (state_shape{2, 3}));
  EXPECT_EQ(shape_with(asynchronous(consistency_kind::half_synchronous),
                       [](job& x) { x.training.first_count = 3; }),
            (state_shape{0 + 2, 3 + 2 * 2}))
    << "two gradients may wait, each with its samples and its scale";
  EXPECT_EQ(shape_with(base(), adam), state_shape{});
}

} // namespace
} // namespace troupe::training_modes_test
