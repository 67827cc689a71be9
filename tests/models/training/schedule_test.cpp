#include "models/training/schedule.hpp"

#include "tests/support/reference.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace troupe::schedule_test {
namespace {

schedule_options options_of(const nlohmann::json& x) {
  schedule_options options;
  options.kind = *from_name<schedule_kind>(x.at("kind").get<std::string>());
  options.steps = x.value("steps", uint64_t{1});
  options.factor = x.value("factor", options.factor);
  options.minimum = x.value("minimum", options.minimum);
  options.start = x.value("start", options.start);
  options.end = x.value("end", options.end);
  options.power = x.value("power", options.power);
  options.milestones = x.value("milestones", options.milestones);
  if (x.contains("then"))
    options.then.push_back(options_of(x.at("then")));
  for (const auto& part : x.value("parts", nlohmann::json::array()))
    options.parts.push_back(options_of(part));
  return options;
}

// The angle of a cosine is rounded to a part in 2^32 of a turn.
double cosine_tolerance(const schedule_options& options) {
  return options.kind == schedule_kind::cosine ? 2e-9 : 1e-14;
}

schedule_options milestone_schedule(std::vector<uint64_t> milestones,
                                    std::vector<schedule_options> parts = {}) {
  schedule_options options;
  options.kind = parts.empty() ? schedule_kind::multi_step : schedule_kind::sequential;
  options.milestones = std::move(milestones);
  options.parts = std::move(parts);
  return options;
}

TEST(schedule, factors_match_pytorch) {
  const auto reference = test::load_reference("schedules.json");
  ASSERT_EQ(reference.size(), 16u);
  for (const auto& [name, entry] : reference.items()) {
    const auto options = options_of(entry.at("options"));
    const auto factors = test::flat<double>(entry.at("factors"));
    ASSERT_EQ(factors.size(), 21u);
    for (size_t t = 0; t < factors.size(); ++t)
      EXPECT_NEAR(schedule_factor(options, t), factors[t], cosine_tolerance(options))
        << name << ' ' << t;
  }
}

TEST(schedule, cosine_takes_hand_worked_values_and_stays_at_its_minimum) {
  schedule_options options{schedule_kind::cosine, 4};
  options.minimum = 0.2;
  EXPECT_EQ(schedule_factor(options, 0), 1);
  EXPECT_NEAR(schedule_factor(options, 2), 0.6, 1e-12);
  EXPECT_NEAR(schedule_factor(options, 4), 0.2, 1e-12);
  EXPECT_NEAR(schedule_factor(options, 1000), 0.2, 1e-12);
}

TEST(schedule, warmup_hands_over_to_the_schedule_that_follows) {
  schedule_options options{schedule_kind::warmup, 4};
  options.start = 0.2;
  options.then.push_back({schedule_kind::step, 2, 0.5});
  EXPECT_NEAR(schedule_factor(options, 0), 0.2, 1e-15);
  EXPECT_NEAR(schedule_factor(options, 3), 0.8, 1e-15);
  EXPECT_EQ(schedule_factor(options, 4), 1);
  EXPECT_EQ(schedule_factor(options, 6), 0.5);
  options.then.clear();
  EXPECT_EQ(schedule_factor(options, 6), 1);
}

TEST(schedule, milestones_count_from_the_step_they_name) {
  auto options = milestone_schedule({2, 5});
  options.factor = 0.5;
  const double expected[] = {1, 1, 0.5, 0.5, 0.5, 0.25, 0.25};
  for (uint64_t t = 0; t < std::size(expected); ++t)
    EXPECT_EQ(schedule_factor(options, t), expected[t]) << t;
}

TEST(schedule, linear_and_polynomial_end_where_they_are_told_and_stay) {
  schedule_options line{schedule_kind::linear, 4};
  line.start = 1;
  line.end = 0.5;
  EXPECT_EQ(schedule_factor(line, 0), 1);
  EXPECT_EQ(schedule_factor(line, 2), 0.75);
  EXPECT_EQ(schedule_factor(line, 4), 0.5);
  EXPECT_EQ(schedule_factor(line, 400), 0.5);
  schedule_options square{schedule_kind::polynomial, 4};
  square.power = 2;
  EXPECT_EQ(schedule_factor(square, 0), 1);
  EXPECT_NEAR(schedule_factor(square, 1), 0.5625, 1e-15);
  EXPECT_EQ(schedule_factor(square, 4), 0);
  EXPECT_EQ(schedule_factor(square, 400), 0);
}

TEST(schedule, inverse_rules_take_hand_worked_values) {
  EXPECT_EQ(schedule_factor({schedule_kind::inverse_time, 4}, 4), 0.5);
  EXPECT_EQ(schedule_factor({schedule_kind::inverse_time, 4}, 12), 0.25);
  EXPECT_EQ(schedule_factor({schedule_kind::inverse_square_root, 4}, 12), 0.5);
  EXPECT_EQ(schedule_factor({schedule_kind::exponential, 3, 0.5}, 6), 0.25);
}

TEST(schedule, warmup_then_inverse_square_root_is_the_transformers_rate) {
  schedule_options options{schedule_kind::warmup, 40};
  options.then.push_back({schedule_kind::inverse_square_root, 40});
  for (uint64_t t = 1; t < 400; ++t) { // min(t^-1/2, t 40^-3/2), scaled to 1 at its peak
    const auto step = static_cast<double>(t);
    const double published = std::min(1 / std::sqrt(step), step * std::pow(40.0, -1.5));
    EXPECT_NEAR(schedule_factor(options, t), published * std::sqrt(40.0), 1e-14) << t;
  }
}

TEST(schedule, parts_are_chained_or_follow_one_another) {
  const schedule_options halves{schedule_kind::step, 2, 0.5};
  schedule_options both{schedule_kind::chained};
  both.parts = {halves, halves};
  EXPECT_EQ(schedule_factor(both, 2), 0.25);
  const auto after = milestone_schedule({3}, {halves, halves});
  EXPECT_EQ(schedule_factor(after, 2), 0.5);
  EXPECT_EQ(schedule_factor(after, 3), 1) << "counts from its own first step";
  EXPECT_EQ(schedule_factor(after, 5), 0.5);
}

TEST(schedule, steps_that_nobody_names_are_those_of_the_run) {
  for (const auto& [kind, name] : name_table<schedule_kind>::entries) {
    if (!counts_steps(kind) || must_name_steps(kind))
      continue;
    EXPECT_EQ(with_steps({kind}, 50), (schedule_options{kind, 50})) << name;
    EXPECT_EQ(with_steps({kind, 7}, 50), (schedule_options{kind, 7})) << name;
    EXPECT_NE(schedule_factor(with_steps({kind}, 50), 10), 0) << name << " keeps learning";
    EXPECT_THROW(schedule_factor({kind}, 0), std::invalid_argument) << name;
  }
  EXPECT_EQ(with_steps({}, 50), schedule_options{});
  EXPECT_EQ(with_steps({schedule_kind::step}, 50), schedule_options{schedule_kind::step});
}

TEST(schedule, steps_that_nobody_names_are_those_of_the_part_in_force) {
  schedule_options rise{schedule_kind::warmup, 20};
  rise.then = {{schedule_kind::cosine}};
  EXPECT_EQ(with_steps(rise, 50).then[0].steps, 30u);
  EXPECT_EQ(with_steps(rise, 20).then[0].steps, 1u) << "it never comes into force";
  schedule_options both{schedule_kind::chained};
  both.parts = {{schedule_kind::cosine}, {schedule_kind::linear, 3}};
  EXPECT_EQ(with_steps(both, 50).parts[0].steps, 50u);
  EXPECT_EQ(with_steps(both, 50).parts[1].steps, 3u);
  const auto turns = with_steps(
    milestone_schedule({10, 25}, {{schedule_kind::linear}, {schedule_kind::cosine}, rise}), 50);
  EXPECT_EQ(turns.parts[0].steps, 10u);
  EXPECT_EQ(turns.parts[1].steps, 15u);
  EXPECT_EQ(turns.parts[2].then[0].steps, 5u);
}

TEST(schedule, options_out_of_range_are_refused) {
  const auto refused = [](schedule_options options) {
    EXPECT_THROW(schedule_factor(options, 1), std::invalid_argument);
  };
  refused({schedule_kind::step, 0});
  refused({schedule_kind::step, 1, 0});
  refused({schedule_kind::step, 1, 1.5});
  refused({schedule_kind::cosine, 1, 0.1, -0.1});
  refused({schedule_kind::cosine, 1, 0.1, 1.1});
  refused({schedule_kind::warmup, 1, 0.1, 0, -1});
  refused({schedule_kind::warmup, 1, 0.1, 0, 0, {{}, {}}});
  refused({schedule_kind::warmup, 9, 0.1, 0, 0, {{schedule_kind::step, 0}}});
  refused({schedule_kind::linear, 1, 0.1, 0, 1.5});
  refused({schedule_kind::linear, 1, 0.1, 0, 0, {}, 1.5});
  refused({schedule_kind::exponential, 1, 0});
  refused({schedule_kind::polynomial, 1, 0.1, -1});
  refused({schedule_kind::polynomial, 1, 0.1, 0, 0, {}, 1, 0});
  refused({schedule_kind::chained});
  refused(milestone_schedule({0}));
  refused(milestone_schedule({3, 3}));
  refused(milestone_schedule({4, 3}));
  refused(milestone_schedule({}, {{}, {}}));
  refused(milestone_schedule({1, 2}, {{}, {}}));
  refused(milestone_schedule({9}, {{}, {schedule_kind::step, 0}}));
}

} // namespace
} // namespace troupe::schedule_test
