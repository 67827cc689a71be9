// Rules on merged models against the papers' formulas in NumPy, round by round.

#include "models/merging/outer_rule.hpp"

#include "models/merging/average.hpp"
#include "models/merging/delay_compensation.hpp"
#include "models/merging/parameter_average.hpp"
#include "tests/support/models.hpp"
#include "tests/support/reference.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>

namespace troupe::outer_rule_test {
namespace {

using test::flat;
using test::floats;
using test::load_reference;

outer_options options_of(const nlohmann::json& x) {
  outer_options options{.kind = *from_name<outer_kind>(x.at("kind").get<std::string>())};
  if (x.contains("learning_rate"))
    options.learning_rate = x.at("learning_rate").get<double>();
  options.momentum = x.value("momentum", options.momentum);
  options.nesterov = x.value("nesterov", options.nesterov);
  options.beta1 = x.value("beta1", options.beta1);
  options.beta2 = x.value("beta2", options.beta2);
  options.tau = x.value("tau", options.tau);
  return options;
}

void expect_close(const floats& found, const floats& expected, const std::string& where) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i)
    EXPECT_NEAR(found[i], expected[i], 2e-7 * std::max(1.0f, std::abs(expected[i])))
      << where << ", element " << i;
}

TEST(outer_rule, follows_the_papers_round_by_round) {
  const auto reference = load_reference("merging.json");
  const auto& cases = reference.at("outer");
  EXPECT_EQ(cases.size(), 8u);
  for (const auto& [name, expected] : cases.items()) {
    outer_rule rule{options_of(expected.at("options")), 8};
    auto main = flat<float>(reference.at("start"));
    for (size_t round = 0; round < 12; ++round) {
      const auto merged = flat<float>(reference.at("merged").at(round));
      ASSERT_TRUE(rule.apply(main, merged, main));
      expect_close(main, flat<float>(expected.at("after").at(round)),
                   name + ", round " + std::to_string(round));
    }
  }
}

TEST(outer_rule, replacing_takes_the_merged_model_bit_for_bit) {
  outer_rule rule{{}, 2};
  floats main{1e30f, 1};
  ASSERT_TRUE(rule.apply(main, floats{1e-30f, -0.0f}, main));
  EXPECT_EQ(main[0], 1e-30f) << "main + (merged - main) would be 0";
  EXPECT_TRUE(std::signbit(main[1]));
}

TEST(outer_rule, a_move_that_is_not_finite_changes_nothing) {
  outer_rule rule{{.kind = outer_kind::sgd, .learning_rate = 3, .momentum = 0.5}, 2};
  floats main{1, 2};
  ASSERT_TRUE(rule.apply(main, floats{2, 2}, main));
  const auto before = rule;
  const auto values = main;
  EXPECT_FALSE(rule.apply(main, floats{3e38f, 0}, main));
  EXPECT_EQ(rule, before);
  EXPECT_EQ(main, values);
}

TEST(outer_rule, constants_out_of_range_are_refused) {
  const auto sgd = outer_kind::sgd;
  for (const outer_options& refused : {outer_options{.kind = sgd, .learning_rate = 0},
                                       {.kind = sgd, .learning_rate = INFINITY},
                                       {.kind = sgd, .momentum = 1},
                                       {.kind = sgd, .nesterov = true},
                                       {.kind = sgd, .beta1 = 1},
                                       {.kind = sgd, .beta2 = -0.1},
                                       {.kind = sgd, .tau = 0}})
    EXPECT_THROW(outer_rule(refused, 1), std::invalid_argument);
  outer_rule rule{{}, 2};
  floats main(3);
  EXPECT_THROW(rule.apply(main, main, main), std::invalid_argument);
}

TEST(elastic_average, follows_the_paper_round_by_round) {
  const auto reference = load_reference("merging.json").at("elastic");
  auto centre = flat<float>(reference.at("centre"));
  std::vector<floats> locals;
  for (const auto& local : reference.at("locals"))
    locals.push_back(flat<float>(local));
  for (const auto& after : reference.at("after")) {
    auto result = elastic_average(centre, test::spans_of(locals), reference.at("alpha"));
    centre = result.centre;
    locals = result.locals;
    expect_close(centre, flat<float>(after.at(0)), "centre");
    for (size_t k = 0; k < locals.size(); ++k)
      expect_close(locals[k], flat<float>(after.at(k + 1)), "model " + std::to_string(k));
  }
}

TEST(elastic_average, is_hand_worked) {
  const std::vector<floats> locals{{4}, {-2}};
  const auto both = elastic_average(floats{1}, test::spans_of(locals), 0.25); // d = 3 and -3
  EXPECT_EQ(both.centre, floats{1});
  EXPECT_EQ(both.locals, (std::vector<floats>{{3.25f}, {-1.25f}}));
  const auto one = elastic_average(floats{1}, test::spans_of({{5}}), 0.25);
  EXPECT_EQ(one.centre, floats{2}) << "centre += alpha d";
  EXPECT_EQ(one.locals, (std::vector<floats>{{4}})) << "local -= alpha d";
}

TEST(elastic_average, refuses_what_does_not_fit) {
  const std::vector<floats> locals{{4}};
  EXPECT_THROW(elastic_average(floats{1, 2}, test::spans_of(locals), 0.5), std::invalid_argument);
  EXPECT_THROW(elastic_average(floats{1}, test::spans_of(locals), 0), std::invalid_argument);
  EXPECT_THROW(elastic_average(floats{1}, test::spans_of(locals), 1.5), std::invalid_argument);
  EXPECT_THROW(elastic_average(floats{1}, {}, 0.5), std::invalid_argument);
}

TEST(parameter_average, is_the_mean_of_the_versions_it_was_told) {
  parameter_average x{{averaging_kind::mean, 0.999, 2}};
  x.add(1, floats{100});
  EXPECT_TRUE(x.values().empty());
  for (float value : {1.0f, 2.0f, 6.0f})
    x.add(2, floats{value});
  EXPECT_EQ(x.values(), floats{3}) << "version 1 was before the first";
  EXPECT_EQ(x.count(), 3u);
}

TEST(parameter_average, forgets_exponentially) {
  parameter_average x{{averaging_kind::exponential, 0.5}};
  x.add(0, floats{7});
  EXPECT_EQ(x.values(), floats{7}) << "no pull towards 0 at the start";
  x.add(1, floats{1});
  EXPECT_EQ(x.values(), floats{3}) << "(7 / 2 + 1) / (1 / 2 + 1)";
  x.add(2, floats{17});
  EXPECT_EQ(x.values(), floats{11}) << "(7 / 4 + 1 / 2 + 17) / (1 / 4 + 1 / 2 + 1)";
}

TEST(parameter_average, matches_reference) {
  const auto reference = load_reference("merging.json");
  for (const auto& expected : reference.at("averaged")) {
    averaging_options options;
    options.kind =
      expected.at("kind") == "mean" ? averaging_kind::mean : averaging_kind::exponential;
    options.decay = expected.at("decay");
    SCOPED_TRACE(expected.at("kind").get<std::string>() + " " + std::to_string(options.decay));
    parameter_average x{options};
    for (size_t round = 0; round < 12; ++round) {
      x.add(round + 1, flat<float>(reference.at("merged").at(round)));
      const auto values = flat<double>(expected.at("after").at(round));
      for (size_t i = 0; i < values.size(); ++i)
        EXPECT_NEAR(x.values()[i], values[i], 1e-6 * (1 + std::abs(values[i])))
          << round << ' ' << i;
    }
  }
}

TEST(parameter_average, of_kind_none_keeps_nothing) {
  parameter_average x;
  x.add(0, floats{8});
  EXPECT_TRUE(x.values().empty());
  EXPECT_THROW(parameter_average({averaging_kind::mean, 1}), std::invalid_argument);
  parameter_average mean{{averaging_kind::mean}};
  mean.add(0, floats{8});
  EXPECT_THROW(mean.add(1, floats{8, 9}), std::invalid_argument);
}

TEST(delay_compensation, follows_the_paper_step_by_step) {
  const auto reference = load_reference("merging.json");
  for (const auto& expected : reference.at("compensated")) {
    delay_compensation_options options;
    options.lambda = expected.at("options").at("lambda");
    options.adaptive = expected.at("options").at("adaptive");
    delay_compensation rule{options};
    for (size_t step = 0; step < 12; ++step) {
      auto gradient = flat<float>(reference.at("merged").at(step));
      for (auto& value : gradient)
        value *= 4; // a sum over four samples
      rule.apply(gradient, 4, flat<float>(reference.at("read").at(step)),
                 flat<float>(reference.at("current").at(step)));
      auto mean = flat<float>(expected.at("after").at(step));
      for (auto& value : mean)
        value *= 4;
      expect_close(gradient, mean, "step " + std::to_string(step));
    }
  }
}

TEST(delay_compensation, leaves_a_gradient_that_is_not_late) {
  auto gradient = test::normal_models(1, 100, 1).front();
  const auto before = gradient;
  const auto parameters = test::normal_models(1, 100, 2).front();
  delay_compensation rule{{2, true}};
  rule.apply(gradient, 3, parameters, parameters);
  EXPECT_EQ(gradient, before) << "bit for bit";
}

TEST(delay_compensation, is_exact_where_the_hessian_is_the_gradients_square) {
  // f = -log(w): f' = -1/w and f'' = 1/w^2 = f'^2. At w = 2, seen from 1.99.
  floats gradient{-1 / 1.99f};
  delay_compensation rule{{1}};
  rule.apply(gradient, 1, floats{1.99f}, floats{2});
  EXPECT_NEAR(gradient[0], -0.5, 2e-5) << "an uncompensated one is off by 2.5e-3";
}

TEST(delay_compensation, refuses_what_does_not_fit) {
  EXPECT_THROW(delay_compensation({-1}), std::invalid_argument);
  EXPECT_THROW(delay_compensation({1, true, 1}), std::invalid_argument);
  EXPECT_THROW(delay_compensation({1, true, 0.5, 0}), std::invalid_argument);
  delay_compensation rule;
  floats gradient{1};
  EXPECT_THROW(rule.apply(gradient, 1, floats{1, 2}, floats{1, 2}), std::invalid_argument);
  EXPECT_THROW(rule.apply(gradient, 0, floats{1}, floats{1}), std::invalid_argument);
}

} // namespace
} // namespace troupe::outer_rule_test
