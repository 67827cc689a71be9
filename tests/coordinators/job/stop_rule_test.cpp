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

TEST(stop_rule, it_reads_results_for_a_target_or_patience) {
  EXPECT_FALSE(stop_rule_options{}.reads_results());
  EXPECT_TRUE((stop_rule_options{.target_loss = 0.5, .patience = {}}.reads_results()));
  EXPECT_TRUE((stop_rule_options{.target_loss = {}, .patience = 2}.reads_results()));
  EXPECT_FALSE(
    (stop_rule_options{.target_loss = {}, .patience = {}, .tolerance = 0.1}.reads_results()));
}

TEST(stop_rule, stops_at_the_first_loss_that_meets_the_target_or_exhausts_patience) {
  using enum stop_reason;
  const stop_rule_options at_half{.target_loss = 0.5, .patience = {}};
  const stop_rule_options patient{.target_loss = {}, .patience = 2};
  const stop_rule_options at_once{.target_loss = {}, .patience = 1};
  const stop_rule_options tolerant{.target_loss = {}, .patience = 2, .tolerance = 0.5};
  const struct {
    const char* name;
    stop_rule_options options;
    std::vector<double> losses;
    std::pair<int, stop_reason> stop;
  } rows[] = {
    {"without options it never stops", {}, {1, 1, 2, nan, infinity, 0, -1}, {-1, none}},
    {"at the target", at_half, {0.6, 0.500001, 0.5, 0.4}, {2, target_loss}},
    {"below the target", at_half, {0.6, 0.1}, {1, target_loss}},
    {"above the target", at_half, {0.6, 0.7}, {-1, none}},
    {"an equal loss is not better", patient, {3, 2, 2, 2.5}, {3, stop_reason::patience}},
    {"an improvement counts anew", patient, {3, 4, 2, 3, 1, 2}, {-1, none}},
    {"better than the last, not best", patient, {3, 4, 3.5, 1}, {2, stop_reason::patience}},
    {"patience of one", at_once, {3, 3}, {1, stop_reason::patience}},
    {"more than the tolerance", tolerant, {3, 2.5, 2.4}, {-1, none}},
    {"exactly the tolerance", tolerant, {3, 2.75, 2.5}, {2, stop_reason::patience}},
    {"once more than it", tolerant, {3, 2.75, 2.49, 2.3, 2.2}, {4, stop_reason::patience}},
    {"no number is no target", at_half, {nan, nan}, {-1, none}},
    {"no number is no improvement", patient, {nan, nan}, {1, stop_reason::patience}},
    {"nor after a number", patient, {1, nan, nan}, {2, stop_reason::patience}},
    {"a number is one", patient, {nan, 1, nan, 0.5}, {-1, none}},
    {"infinity is none", patient, {infinity, infinity}, {1, stop_reason::patience}},
    {"the target before patience", {2, 1, 5}, {6, 2}, {1, target_loss}},
  };
  for (const auto& [name, options, losses, stop] : rows)
    EXPECT_EQ(stops_at(options, losses), stop) << name;
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
