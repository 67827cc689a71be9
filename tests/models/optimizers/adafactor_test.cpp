#include "tests/support/reference.hpp"
#include "tests/support/whole_model_run.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace troupe::adafactor_test {

namespace {

using floats = std::vector<float>;
using test::one_tensor;

optimizer_options adafactor_options() {
  optimizer_options options;
  options.kind = optimizer_kind::adafactor;
  return options;
}

parameter_layout matrix_and_vector() {
  parameter_layout layout;
  layout.add("layers.0.weight", {3, 4});
  layout.add("layers.0.bias", {3});
  return layout;
}

} // namespace

TEST(adafactor, takes_hand_worked_steps_on_a_vector) {
  test::whole_model_run run{adafactor_options(), one_tensor({2}), {4, 4}};
  const auto& p = run.parameters;
  ASSERT_TRUE(run.step({3, -1})); // b = 0: V = G^2, U = sign(G), a = 4 * 0.01
  EXPECT_FLOAT_EQ(p[0], 3.96f);
  EXPECT_FLOAT_EQ(p[1], 4.04f);
  ASSERT_TRUE(run.step({0, 0})); // U = 0
  EXPECT_FLOAT_EQ(p[0], 3.96f);
  const double before = p[0];
  const double b2 = 1 - std::pow(2, -0.8);
  const double b3 = 1 - std::pow(3, -0.8);
  ASSERT_TRUE(run.step({3, 0})); // V = b3 b2 9 + (1 - b3) 9
  const double u = 3 / std::sqrt(b3 * b2 * 9 + (1 - b3) * 9);
  const double clip = std::max(1.0, u / std::sqrt(2.0));
  const double size = std::sqrt((3.96 * 3.96 + 4.04 * 4.04) / 2);
  EXPECT_NEAR(p[0], before - size * 0.01 * u / clip, 1e-6);
}

TEST(adafactor, the_learning_rate_is_the_greatest_relative_step) {
  auto options = adafactor_options();
  options.learning_rate = 0.25;
  options.schedule.kind = schedule_kind::step;
  options.schedule.steps = 1;
  test::whole_model_run run{options, one_tensor({1}), {4}};
  ASSERT_TRUE(run.step({1}));
  EXPECT_FLOAT_EQ(run.parameters[0], 3); // 4 - 4 * 0.25
  ASSERT_TRUE(run.step({1}));
  EXPECT_FLOAT_EQ(run.parameters[0], 2.925f); // the schedule's 0.1: 3 - 3 * 0.025
  options = adafactor_options();
  options.learning_rate = 5;
  test::whole_model_run capped{options, one_tensor({1}), {4}};
  ASSERT_TRUE(capped.step({1}));
  EXPECT_FLOAT_EQ(capped.parameters[0], 0) << "1 / sqrt(1) at most";
}

TEST(adafactor, a_matrix_of_rank_one_is_factored_exactly) {
  test::whole_model_run run{adafactor_options(), one_tensor({2, 3}), floats(6, 1)};
  // Squares 1 4 9 and 4 16 36: V is G^2, so U is its sign.
  ASSERT_TRUE(run.step({1, -2, 3, 2, 4, -6}));
  for (size_t i = 0; i < 6; ++i)
    EXPECT_NEAR(run.parameters[i], i == 1 || i == 5 ? 1.01 : 0.99, 1e-6) << i;
}

TEST(adafactor, fifty_steps_match_the_paper) {
  const auto reference = test::load_reference("whole_vector_optimizers.json").at("adafactor");
  test::whole_model_run run{adafactor_options(), matrix_and_vector(),
                            test::flat<float>(reference.at("start"))};
  size_t compared = 0;
  for (const auto& gradient : reference.at("gradients")) {
    ASSERT_TRUE(run.step(test::flat<float>(gradient)));
    const auto after = reference.at("after").find(std::to_string(run.version));
    if (after == reference.at("after").end())
      continue;
    ++compared;
    const auto expected = test::flat<double>(*after);
    for (size_t i = 0; i < expected.size(); ++i)
      EXPECT_NEAR(run.parameters[i], expected[i], 1e-5 * std::max(1.0, std::abs(expected[i])))
        << run.version << ' ' << i;
  }
  EXPECT_EQ(compared, 4u);
}

TEST(adafactor, goes_on_from_a_copied_state) {
  test::whole_model_run run{adafactor_options(), matrix_and_vector(), floats(15, 0.5f)};
  const auto gradient = [](uint64_t t) {
    floats g(15);
    for (size_t i = 0; i < g.size(); ++i)
      g[i] = static_cast<float>((3 * t + 5 * i) % 7) - 3;
    return g;
  };
  for (uint64_t t = 0; t < 4; ++t)
    ASSERT_TRUE(run.step(gradient(t)));
  test::whole_model_run other{adafactor_options(), matrix_and_vector(), run.parameters};
  other.version = run.version;
  for (size_t k = 0; k < run.state.slot_count(); ++k)
    std::ranges::copy(run.state.slot(k), other.state.slot(k).begin());
  for (uint64_t t = 4; t < 8; ++t) {
    ASSERT_TRUE(run.step(gradient(t)));
    ASSERT_TRUE(other.step(gradient(t)));
  }
  EXPECT_EQ(run.parameters, other.parameters);
}

TEST(adafactor, tensors_without_gradients_stay_finite_and_still) {
  test::whole_model_run run{adafactor_options(), matrix_and_vector(), floats(15, 0.5f)};
  for (int t = 0; t < 5; ++t)
    ASSERT_TRUE(run.step(floats(15, 0.0f)));
  EXPECT_EQ(run.parameters, floats(15, 0.5f));
}

TEST(adafactor, what_is_not_finite_is_not_applied) {
  test::whole_model_run run{adafactor_options(), one_tensor({2}), {1, 1}};
  EXPECT_FALSE(run.step({1, std::numeric_limits<float>::infinity()}, 0, false));
  EXPECT_FALSE(run.step({1, 1e30f})) << "its square is no float";
}

} // namespace troupe::adafactor_test
