// When the rate is lowered, beside PyTorch's numbers (tests/reference/plateau.py), and how the director's rule
// carries it through a run.

#include "coordinators/job/stop_rule.hpp"

#include "coordinators/run/director_rule.hpp"
#include "tests/support/reference.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace troupe::plateau_rule_test {
namespace {

using decisions = director_decisions;

const plateau_options at_once{.patience = 1, .factor = 0.5};

std::vector<uint64_t> reductions_of(const plateau_options& options,
                                    const std::vector<double>& losses) {
  plateau_rule rule{options};
  for (size_t i = 0; i < losses.size(); ++i)
    rule.observe(i + 1, losses[i]);
  return rule.reductions();
}

TEST(plateau_rule, lowers_the_rate_where_pytorch_does) {
  for (const auto& entry : test::load_reference("plateau.json")) {
    const plateau_options options{.patience = entry.at("patience").get<size_t>(),
                                  .factor = entry.at("factor"),
                                  .tolerance = entry.at("tolerance"),
                                  .minimum = entry.value("minimum", 0.0)};
    EXPECT_EQ(reductions_of(options, test::flat<double>(entry.at("losses"))),
              test::flat<uint64_t>(entry.at("reductions")));
  }
}

TEST(plateau_rule, ends_at_the_least_rate_and_takes_what_is_no_number_for_no_improvement) {
  auto options = at_once;
  options.minimum = 0.25;
  EXPECT_EQ(reductions_of(options, {1, 1, 1, 1, 1}), (std::vector<uint64_t>{2, 3}));
  EXPECT_EQ(reductions_of(at_once, std::vector<double>(10'000, 1)).size(), 99u)
    << "0.5^100 is below 1e-30";
  EXPECT_EQ(reductions_of(at_once, {1, std::nan(""), 0.5}), std::vector<uint64_t>{2});
}

TEST(plateau_rule, goes_on_with_what_another_one_saw) {
  const std::vector<double> losses{1, 2, 0.5, 0.6, 0.7, 0.4, 0.4, 0.4, 0.4};
  const plateau_options options{.patience = 2};
  for (size_t cut = 0; cut < losses.size(); ++cut) {
    plateau_rule first{options};
    for (size_t i = 0; i < cut; ++i)
      first.observe(i + 1, losses[i]);
    plateau_rule second{options, first.watch(), first.reductions()};
    for (size_t i = cut; i < losses.size(); ++i)
      second.observe(i + 1, losses[i]);
    EXPECT_EQ(second.reductions(), (std::vector<uint64_t>{5, 8})) << cut;
  }
}

TEST(plateau_rule, that_is_off_remembers_nothing) {
  const auto old = plateau_rule{at_once, stop_rule{{}}, {3}};
  EXPECT_TRUE((plateau_rule{{}, old.watch(), old.reductions()}.reductions().empty()));
  EXPECT_TRUE(reductions_of({}, {1, 1, 1, 1}).empty());
}

TEST(plateau_factor, counts_the_reductions_up_to_a_step) {
  const std::vector<uint64_t> steps{4, 10};
  for (const auto& [step, factor] :
       {std::pair{0, 1.0}, {3, 1.0}, {4, 0.5}, {9, 0.5}, {10, 0.25}, {1000, 0.25}})
    EXPECT_EQ(plateau_factor(at_once, steps, static_cast<uint64_t>(step)), factor) << step;
}

// ---- In a run: 3 epochs of 2 steps, whose training loss is watched

director_rule_options six_steps() {
  director_rule_options options;
  options.plan = {
    .row_count = 8, .batch_size = 4, .slice_count = 2, .epoch_count = 3, .step_limit = {}};
  options.plateau = at_once;
  return options;
}

batch_sums loss(double mean) {
  return {8 * mean, 8, 0, 0};
}

std::vector<horizon_rule> horizons_in(const decisions& found) {
  std::vector<horizon_rule> result;
  for (const auto& decision : found)
    if (const auto* x = std::get_if<allow_up_to>(&decision))
      result.push_back(x->horizon);
  return result;
}

using horizons = std::vector<horizon_rule>;

TEST(director_plateau, nobody_goes_on_before_a_result_is_read_and_all_hear_of_it_with_the_horizon) {
  director_rule rule{six_steps()};
  EXPECT_EQ(horizons_in(rule.start()), (horizons{{2, false, {}}}));
  EXPECT_EQ(horizons_in(rule.on_trained(2, loss(1))), (horizons{{4, false, {}}}));
  EXPECT_EQ(horizons_in(rule.on_trained(4, loss(1))), (horizons{{6, true, {4}}}));
}

TEST(director_plateau, an_interrupt_keeps_the_rate) {
  director_rule rule{six_steps()};
  rule.start();
  rule.on_trained(2, loss(1));
  rule.on_trained(4, loss(1));
  rule.on_stop_requested();
  EXPECT_EQ(horizons_in(rule.on_stop_named(5)), (horizons{{5, true, {4}}}));
}

TEST(director_plateau, goes_on_from_a_checkpoint_as_if_it_had_not_stopped) {
  auto options = six_steps();
  options.plan.epoch_count = 5;
  options.checkpoint_every = 2;
  const std::vector<double> losses{1, 2, 0.5, 0.5, 0.4};
  director_rule whole{options};
  whole.start();
  std::vector<horizons> undisturbed;
  for (size_t i = 0; i < losses.size(); ++i)
    undisturbed.push_back(horizons_in(whole.on_trained(2 * i + 2, loss(losses[i]))));
  for (size_t cut = 1; cut < losses.size(); ++cut) {
    director_rule first{options};
    first.start();
    for (size_t i = 0; i < cut; ++i)
      first.on_trained(2 * i + 2, loss(losses[i]));
    director_rule second{options, first.memory(2 * cut)};
    EXPECT_EQ(horizons_in(second.start()), undisturbed[cut - 1]) << cut;
    for (size_t i = cut; i < losses.size(); ++i)
      EXPECT_EQ(horizons_in(second.on_trained(2 * i + 2, loss(losses[i]))), undisturbed[i]) << cut;
  }
}

} // namespace
} // namespace troupe::plateau_rule_test
