#include "coordinators/job/stop_rule.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

namespace troupe::stop_rule_test {
namespace {

constexpr auto nan = std::numeric_limits<double>::quiet_NaN();
constexpr auto infinity = std::numeric_limits<double>::infinity();
constexpr auto none = stop_reason::none;

/// The place of the first loss that stops, counted from 0, and why; -1 when none does.
std::pair<int, stop_reason> stops_at(const stop_rule_options& options,
                                     const std::vector<double>& losses) {
  stop_rule rule{options};
  for (size_t i = 0; i < losses.size(); ++i)
    if (const auto reason = rule.observe(10 * (i + 1), losses[i]); reason != none)
      return {static_cast<int>(i), reason};
  return {-1, none};
}

std::pair<int, stop_reason> never() {
  return {-1, none};
}

std::pair<int, stop_reason> target_at(int i) {
  return {i, stop_reason::target_loss};
}

std::pair<int, stop_reason> patience_at(int i) {
  return {i, stop_reason::patience};
}

TEST(stop_rule, without_options_it_never_stops) {
  EXPECT_EQ(stops_at({}, {1, 1, 2, nan, infinity, 0, -1}), never());
  EXPECT_FALSE(stop_rule_options{}.reads_results());
}

TEST(stop_rule, it_reads_results_for_a_target_or_patience) {
  EXPECT_TRUE((stop_rule_options{.target_loss = 0.5, .patience = {}}.reads_results()));
  EXPECT_TRUE((stop_rule_options{.target_loss = {}, .patience = 2}.reads_results()));
  EXPECT_FALSE(
    (stop_rule_options{.target_loss = {}, .patience = {}, .tolerance = 0.1}.reads_results()));
}

TEST(stop_rule, a_loss_at_or_below_the_target_stops) {
  const stop_rule_options options{.target_loss = 0.5, .patience = {}};
  EXPECT_EQ(stops_at(options, {0.6, 0.500001, 0.5, 0.4}), target_at(2));
  EXPECT_EQ(stops_at(options, {0.6, 0.1}), target_at(1));
  EXPECT_EQ(stops_at(options, {0.6, 0.7}), never());
}

TEST(stop_rule, patience_counts_evaluations_in_a_row_without_a_better_loss) {
  const stop_rule_options options{.target_loss = {}, .patience = 2};
  EXPECT_EQ(stops_at(options, {3, 2, 2, 2.5}), patience_at(3)) << "an equal loss is not better";
  EXPECT_EQ(stops_at(options, {3, 4, 2, 3, 1, 2}), never()) << "an improvement counts anew";
  EXPECT_EQ(stops_at(options, {3, 4, 3.5, 1}), patience_at(2)) << "better than the last, not best";
  EXPECT_EQ(stops_at({.target_loss = {}, .patience = 1}, {3, 3}), patience_at(1));
}

TEST(stop_rule, an_improvement_must_exceed_the_tolerance) {
  const stop_rule_options options{.target_loss = {}, .patience = 2, .tolerance = 0.5};
  EXPECT_EQ(stops_at(options, {3, 2.5, 2.4}), never());
  EXPECT_EQ(stops_at(options, {3, 2.75, 2.5}), patience_at(2)) << "exactly the tolerance";
  EXPECT_EQ(stops_at(options, {3, 2.75, 2.49, 2.3, 2.2}), patience_at(4));
}

TEST(stop_rule, a_loss_that_is_no_number_is_no_improvement_and_no_target) {
  EXPECT_EQ(stops_at({.target_loss = 0.5, .patience = {}}, {nan, nan}), never());
  EXPECT_EQ(stops_at({.target_loss = {}, .patience = 2}, {nan, nan}), patience_at(1));
  EXPECT_EQ(stops_at({.target_loss = {}, .patience = 2}, {1, nan, nan}), patience_at(2));
  EXPECT_EQ(stops_at({.target_loss = {}, .patience = 2}, {nan, 1, nan, 0.5}), never());
  EXPECT_EQ(stops_at({.target_loss = {}, .patience = 2}, {infinity, infinity}), patience_at(1));
}

TEST(stop_rule, the_target_is_named_before_patience) {
  EXPECT_EQ(stops_at({.target_loss = 2, .patience = 1, .tolerance = 5}, {6, 2}), target_at(1));
}

TEST(stop_rule, it_remembers_the_best_version) {
  stop_rule rule{{.target_loss = {}, .patience = 5}};
  EXPECT_EQ(rule.best_loss(), infinity);
  rule.observe(10, 3);
  rule.observe(20, 1);
  rule.observe(30, 2);
  EXPECT_EQ(rule.best_loss(), 1);
  EXPECT_EQ(rule.best_version(), 20u);
  EXPECT_EQ(rule.evaluations_without_improvement(), 1u);
  rule.observe(40, 0);
  EXPECT_EQ(rule.evaluations_without_improvement(), 0u);
}

TEST(stop_rule, each_reason_has_a_name_for_summaries) {
  using enum stop_reason;
  const std::pair<stop_reason, std::string> names[] = {
    {none, "none"},         {epochs, "epochs"},
    {steps, "steps"},       {target_loss, "target-loss"},
    {patience, "patience"}, {interrupt, "interrupt"},
    {diverged, "diverged"}, {epsilon, "epsilon"}};
  for (const auto& [reason, name] : names)
    EXPECT_EQ(name_of(reason), name);
}

} // namespace
} // namespace troupe::stop_rule_test
