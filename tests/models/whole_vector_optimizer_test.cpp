// Adafactor and L-BFGS: rules over whole parameter vectors.

#include "troupe/models/optimizers/adafactor.hpp"
#include "troupe/models/optimizers/lbfgs.hpp"

#include "troupe/tests/support/reference.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace troupe {

namespace {

using floats = std::vector<float>;

parameter_layout matrix_and_vector() {
  parameter_layout layout;
  layout.add("layers.0.weight", {3, 4});
  layout.add("layers.0.bias", {3});
  return layout;
}

parameter_layout one(std::vector<size_t> shape) {
  parameter_layout layout;
  layout.add("x", std::move(shape));
  return layout;
}

} // namespace

TEST(adafactor, takes_hand_worked_steps_on_a_vector) {
  adafactor rule{{}, one({2})};
  floats p{4, 4};
  ASSERT_TRUE(rule.step(floats{6, -2}, 2, p)); // b = 0: V = G^2, U = sign(G), a = 4 * 0.01
  EXPECT_FLOAT_EQ(p[0], 3.96f);
  EXPECT_FLOAT_EQ(p[1], 4.04f);
  ASSERT_TRUE(rule.step(floats{0, 0}, 1, p)); // U = 0
  EXPECT_FLOAT_EQ(p[0], 3.96f);
  const double before = p[0];
  const double b2 = 1 - std::pow(2, -0.8);
  const double b3 = 1 - std::pow(3, -0.8);
  ASSERT_TRUE(rule.step(floats{3, 0}, 1, p)); // V = b3 b2 9 + (1 - b3) 9
  const double u = 3 / std::sqrt(b3 * b2 * 9 + (1 - b3) * 9);
  const double clip = std::max(1.0, u / std::sqrt(2.0));
  const double size = std::sqrt((3.96 * 3.96 + 4.04 * 4.04) / 2);
  EXPECT_NEAR(p[0], before - size * 0.01 * u / clip, 1e-6);
}

TEST(adafactor, a_matrix_of_rank_one_is_factored_exactly) {
  adafactor rule{{}, one({2, 3})};
  floats p(6, 1.0f);
  // Squares 1 4 9 and 4 16 36: V is G^2, so U is its sign.
  ASSERT_TRUE(rule.step(floats{1, -2, 3, 2, 4, -6}, 1, p));
  for (size_t i = 0; i < 6; ++i)
    EXPECT_NEAR(p[i], i == 1 || i == 5 ? 1.01 : 0.99, 1e-6) << i;
}

TEST(adafactor, fifty_steps_match_the_paper) {
  const auto reference = test::load_reference("whole_vector_optimizers.json").at("adafactor");
  adafactor rule{{}, matrix_and_vector()};
  auto p = test::flat<float>(reference.at("start"));
  size_t compared = 0;
  for (const auto& gradient : reference.at("gradients")) {
    ASSERT_TRUE(rule.step(test::flat<float>(gradient), 1, p));
    const auto after = reference.at("after").find(std::to_string(rule.step_count()));
    if (after == reference.at("after").end())
      continue;
    ++compared;
    const auto expected = test::flat<double>(*after);
    for (size_t i = 0; i < p.size(); ++i)
      EXPECT_NEAR(p[i], expected[i], 1e-5 * std::max(1.0, std::abs(expected[i])))
        << rule.step_count() << ' ' << i;
  }
  EXPECT_EQ(compared, 4u);
}

TEST(adafactor, tensors_without_gradients_stay_finite_and_still) {
  adafactor rule{{}, matrix_and_vector()};
  floats p(15, 0.5f);
  for (int t = 0; t < 5; ++t)
    ASSERT_TRUE(rule.step(floats(15, 0.0f), 1, p));
  EXPECT_EQ(p, floats(15, 0.5f));
}

TEST(adafactor, refuses_what_it_cannot_use) {
  for (const auto& options :
       {adafactor_options{-1}, adafactor_options{{}, 0}, adafactor_options{{}, 1e-30, 0},
        adafactor_options{{}, 1e-30, 1e-3, 0}, adafactor_options{{}, 1e-30, 1e-3, 1, 1.5}})
    EXPECT_THROW((adafactor{options, one({2})}), std::invalid_argument);
  adafactor rule{{}, one({2})};
  floats p{1, 1};
  EXPECT_THROW(rule.step(floats{1}, 1, p), std::invalid_argument);
  EXPECT_THROW(rule.step(floats{1, 1}, 0, p), std::invalid_argument);
  EXPECT_FALSE(rule.step(floats{1, std::numeric_limits<float>::infinity()}, 1, p));
  EXPECT_EQ(p, (floats{1, 1}));
  EXPECT_EQ(rule.step_count(), 0u);
}

TEST(lbfgs, takes_hand_worked_steps_on_a_parabola) {
  // f = 2 x^2, g = 4 x.
  lbfgs rule{{}};
  floats p{3};
  ASSERT_TRUE(rule.step(floats{24}, 2, p)); // rate 1 / 12 times 12
  EXPECT_EQ(p[0], 2);
  ASSERT_TRUE(rule.step(floats{8}, 1, p)); // s = -1, y = -4: Newton's step
  EXPECT_EQ(p[0], 0);
  EXPECT_EQ(rule.pair_count(), 1u);
  for (int again = 0; again < 3; ++again) {
    EXPECT_FALSE(rule.step(floats{0}, 1, p)) << "at the minimum";
    EXPECT_EQ(rule.pair_count(), 2u) << "the last move is remembered once";
  }
}

TEST(lbfgs, steps_match_pytorch) {
  const auto reference = test::load_reference("whole_vector_optimizers.json").at("lbfgs");
  const auto curves = test::flat<double>(reference.at("curves"));
  const auto centres = test::flat<double>(reference.at("centres"));
  ASSERT_EQ(reference.at("cases").size(), 2u);
  for (const auto& entry : reference.at("cases")) {
    lbfgs rule{{entry.at("learning_rate"), entry.at("history_size")}};
    auto p = test::flat<float>(reference.at("start"));
    floats gradient(p.size());
    size_t step = 0;
    for (const auto& after : entry.at("after")) {
      for (size_t i = 0; i < p.size(); ++i)
        gradient[i] =
          static_cast<float>(curves[i] * (p[i] - centres[i]) + 1 / (1 + std::exp(-double{p[i]})));
      ASSERT_TRUE(rule.step(gradient, 1, p));
      ++step;
      const auto expected = test::flat<double>(after);
      for (size_t i = 0; i < p.size(); ++i)
        EXPECT_NEAR(p[i], expected[i], 1e-5) << step << ' ' << i;
    }
  }
}

TEST(lbfgs, keeps_no_more_pairs_than_told_and_none_of_bad_curvature) {
  lbfgs rule{{0.1, 2}};
  floats p{1, 1};
  for (int t = 0; t < 6; ++t) {
    ASSERT_TRUE(rule.step(floats{2 * p[0], 6 * p[1]}, 1, p));
    EXPECT_EQ(rule.pair_count(), std::min<size_t>(static_cast<size_t>(t), 2));
  }
  lbfgs concave{{}};
  floats q{1};
  ASSERT_TRUE(concave.step(floats{-1}, 1, q));
  ASSERT_TRUE(concave.step(floats{-2}, 1, q)) << "steeper downhill: s y < 0";
  EXPECT_EQ(concave.pair_count(), 0u);
}

TEST(lbfgs, refuses_what_it_cannot_use) {
  EXPECT_THROW((lbfgs{{0}}), std::invalid_argument);
  EXPECT_THROW((lbfgs{{1, 0}}), std::invalid_argument);
  lbfgs rule{{}};
  floats p{1, 1};
  EXPECT_THROW(rule.step(floats{1}, 1, p), std::invalid_argument);
  EXPECT_THROW(rule.step(floats{1, 1}, 0, p), std::invalid_argument);
  EXPECT_FALSE(rule.step(floats{1, std::numeric_limits<float>::quiet_NaN()}, 1, p));
  EXPECT_EQ(p, (floats{1, 1}));
}

} // namespace troupe
