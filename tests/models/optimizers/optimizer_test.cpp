#include "models/optimizers/optimizer.hpp"

#include "tests/support/reference.hpp"
#include "tests/support/whole_model_run.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace troupe::optimizer_test {
namespace {

/// One parameter, driven step by step.
class single {
public:
  single(const optimizer_options& options, float start, uint64_t first_step = 0)
    : rule_(make_optimizer(options)),
      state_(rule_->slot_count(), 1),
      value_(start),
      t_(first_step) {}

  float step(float gradient_sum, uint64_t samples = 1, direction way = direction::descent) {
    float next = 0;
    rule_->update(rule_->begin_step(t_++, samples, way), {&gradient_sum, &value_, &next, 0, 1},
                  state_);
    return value_ = next;
  }

private:
  std::unique_ptr<optimizer> rule_;
  optimizer_state state_;
  float value_;
  uint64_t t_;
};

optimizer_options sgd_options(double rate, double momentum = 0, bool nesterov = false) {
  optimizer_options result;
  result.learning_rate = rate;
  result.momentum = momentum;
  result.nesterov = nesterov;
  return result;
}

optimizer_options options_of(const nlohmann::json& x) {
  optimizer_options options;
  options.kind = *from_name<optimizer_kind>(x.at("kind").get<std::string>());
  options.momentum = x.value("momentum", options.momentum);
  options.nesterov = x.value("nesterov", options.nesterov);
  for (const auto& [key, member, of_rule] : optimizer_constants)
    if (x.contains(key))
      options.*member = x.at(std::string{key}).get<double>();
  return options;
}

using settings = optimizer_options;
using constants = std::vector<std::pair<std::optional<double> settings::*, double>>;

settings kind_options(optimizer_kind kind, double rate, const constants& more = {}) {
  settings result;
  result.kind = kind;
  result.learning_rate = rate;
  for (const auto& [member, value] : more)
    result.*member = value;
  return result;
}

/// A rule that starts at `start`: each step's gradient, and where it then is within `tolerance`.
struct hand_worked {
  const char* name;
  optimizer_options options;
  double tolerance;
  float start;
  std::vector<std::pair<float, double>> steps;
};

auto element_wise_rules() {
  std::vector<std::pair<optimizer_kind, std::string_view>> result;
  for (const auto& entry : name_table<optimizer_kind>::entries)
    if (scope_of(entry.first) == optimizer_scope::element_wise)
      result.push_back(entry);
  return result;
}

TEST(optimizer, rules_take_hand_worked_steps) {
  using enum optimizer_kind;
  const hand_worked rules[] = {
    {"sgd", sgd_options(0.5), 0, 1, {{2, 0}, {-1, 0.5}}},
    // v = 4, 2, 0
    {"momentum", sgd_options(0.5, 0.5), 0, 0, {{4, -2}, {0, -3}, {-1, -3}}},
    // v = 4, 2, 0; direction 4 + 2, 0 + 1, -1 + 0
    {"nesterov", sgd_options(0.5, 0.5, true), 0, 0, {{4, -3}, {0, -3.5}, {-1, -3}}},
    // 0.875^t: no gradient, no moments
    {"adamw decays once a step and outside the moments",
     kind_options(adamw, 0.5, {{&settings::weight_decay, 0.25}}),
     0,
     1,
     {{0, 0.875}, {0, 0.765625}, {0, 0.669921875}}},
    // m = 2, / 0.5; u = 4, then m = 1, / 0.75; u = 2, then m = 0; u = 1
    {"adamax",
     kind_options(adamax, 1, {{&settings::beta1, 0.5}, {&settings::beta2, 0.5}}),
     1e-6,
     0,
     {{4, -1}, {0, -5.0 / 3}, {-1, -5.0 / 3}}},
    // s = 9, 25
    {"adagrad", kind_options(adagrad, 0.5), 1e-7, 0, {{3, -0.5}, {4, -0.9}, {0, -0.9}}},
    // s = 8: 4 / sqrt(9); d = 8/9, then s = 4; d = 4/9, then s = 4
    {"adadelta",
     kind_options(adadelta, 1, {{&settings::rho, 0.5}, {&settings::epsilon, 1}}),
     1e-6,
     0,
     {{4, -4.0 / 3}, {0, -4.0 / 3}, {2, -4.0 / 3 - 2 * std::sqrt(13.0 / 9 / 5)}}},
    // s = 1, 0.75
    {"rmsprop",
     kind_options(rmsprop, 0.5, {{&settings::rho, 0.75}}),
     1e-6,
     0,
     {{2, -1}, {0, -1}, {1, -1 - 0.5 / std::sqrt(0.8125)}}},
    {"rmsprop keeps nine tenths", kind_options(rmsprop, 1), 1e-5, 0, {{1, -1 / std::sqrt(0.1)}}},
    // 1.2 times as far, whatever the gradient's size; where the sign turns half as far next time
    {"rprop",
     kind_options(rprop, 0.1),
     1e-7,
     0,
     {{7, -0.1}, {0.01f, -0.22}, {-3, -0.22}, {-3, -0.16}, {-3, -0.088}}},
  };
  for (const auto& rule : rules) {
    single x{rule.options, rule.start};
    for (const auto& [gradient, expected] : rule.steps)
      EXPECT_NEAR(x.step(gradient), expected, rule.tolerance) << rule.name;
  }
}

TEST(optimizer, a_sum_of_gradients_is_divided_by_its_samples_once) {
  EXPECT_EQ((single{sgd_options(0.5), 0.5f}.step(8, 4)), -0.5f);
}

TEST(optimizer, adam_takes_hand_worked_steps) {
  single x{kind_options(optimizer_kind::adam, 0.1), 1};
  // Whatever its size, the first gradient moves by the learning rate: m / sqrt(v) = 1 corrected.
  EXPECT_NEAR(x.step(4), 0.9, 1e-6);
  // m = .9 * .4 + .1 * 2 = .56, / .19; v = .999 * .016 + .001 * 4 = .019984, / .001999
  EXPECT_NEAR(x.step(2), 0.9 - 0.1 * (0.56 / 0.19) / std::sqrt(0.019984 / 0.001999), 1e-6);
  // m = .504, / .271; v = .999 * .019984 = .019964016, / .002997001
  EXPECT_NEAR(x.step(0),
              0.9 - 0.1 * (0.56 / 0.19) / std::sqrt(0.019984 / 0.001999) -
                0.1 * (0.504 / 0.271) / std::sqrt(0.019964016 / 0.002997001),
              1e-6);
}

TEST(optimizer, adamw_takes_hand_worked_steps) {
  auto options = kind_options(optimizer_kind::adamw, 0.1);
  options.weight_decay = 0.5; // each step leaves 0.95
  single x{options, 1};
  EXPECT_NEAR(x.step(4), 0.95 - 0.1, 1e-6);
  const double second = 0.95 * 0.85 - 0.1 * (0.56 / 0.19) / std::sqrt(0.019984 / 0.001999);
  EXPECT_NEAR(x.step(2), second, 1e-6);
  EXPECT_NEAR(x.step(0),
              0.95 * second - 0.1 * (0.504 / 0.271) / std::sqrt(0.019964016 / 0.002997001), 1e-6);
}

TEST(optimizer, nadam_takes_hand_worked_steps) {
  single x{kind_options(optimizer_kind::nadam, 0.1), 0};
  const auto mu = [](int k) { return 0.9 * (1 - 0.5 * std::pow(0.96, 0.004 * k)); };
  const double m[] = {0.4, 0.56, 0.504}; // of the gradients 4, 2, 0
  const double v[] = {0.016, 0.019984, 0.019964016};
  const double g[] = {4, 2, 0};
  const double rest[] = {0.001, 0.001999, 0.002997001}; // 1 - b2^k
  double p = 0;
  double product = 1;
  for (int k = 1; k <= 3; ++k) {
    product *= mu(k);
    const double direction =
      (1 - mu(k)) * g[k - 1] / (1 - product) + mu(k + 1) * m[k - 1] / (1 - product * mu(k + 1));
    p -= 0.1 * direction / std::sqrt(v[k - 1] / rest[k - 1]);
    EXPECT_NEAR(x.step(static_cast<float>(g[k - 1])), p, 1e-6) << k;
  }
}

TEST(optimizer, nadam_does_not_slow_down_with_the_steps) {
  single x{kind_options(optimizer_kind::nadam, 0.1), 0, 1'000'000'000'000};
  // mu tends to beta1 and nothing is corrected: 0.1 g + 0.9 m with m = 0.1 g, over sqrt(0.001) g.
  EXPECT_NEAR(x.step(1), -0.1 * (0.1 + 0.9 * 0.1) / std::sqrt(0.001), 1e-6);
}

TEST(optimizer, radam_takes_hand_worked_steps_and_adapts_from_the_fifth) {
  single x{kind_options(optimizer_kind::radam, 0.5), 0};
  EXPECT_NEAR(x.step(4), -2, 1e-6);                                       // n = 4
  EXPECT_NEAR(x.step(2), -2 - 0.5 * 0.56 / 0.19, 1e-6);                   // m = .56
  EXPECT_NEAR(x.step(0), -2 - 0.5 * (0.56 / 0.19 + 0.504 / 0.271), 1e-6); // m = .504
  const auto moved_in_step = [](uint64_t t, float gradient) {
    return single{kind_options(optimizer_kind::radam, 0.5), 0, t}.step(gradient);
  };
  EXPECT_NEAR(moved_in_step(3, 100), 100 * moved_in_step(3, 1), 1e-4) << "r = 3.99";
  EXPECT_NEAR(moved_in_step(4, 100), moved_in_step(4, 1), 1e-6) << "r = 4.99";
}

TEST(optimizer, a_parameter_without_a_gradient_stays_where_it_is) {
  // 0 / 0 in a rule that lacks its epsilon.
  for (const auto& [kind, name] : element_wise_rules()) {
    auto options = kind_options(kind, 0.5);
    options.weight_decay = 0;
    single x{options, 0.75f};
    for (int t = 0; t < 8; ++t)
      EXPECT_EQ(x.step(0), 0.75f) << name << ' ' << t;
  }
}

TEST(optimizer, rprop_keeps_its_steps_within_bounds) {
  single far{kind_options(optimizer_kind::rprop, 45), 0};
  far.step(1);
  EXPECT_EQ(far.step(1), -95) << "45, then 50 and not 54";
  single near{kind_options(optimizer_kind::rprop, 2e-6), 0};
  near.step(1);
  for (int turn = 0; turn < 5; ++turn) {
    near.step(-1);
    near.step(1);
  }
  const float before = near.step(-1);
  EXPECT_NEAR(near.step(-1) - before, 1e-6, 1e-8);
}

TEST(optimizer, each_rule_has_the_papers_constants) {
  EXPECT_EQ(defaults_of(optimizer_kind::adam).epsilon, 1e-8);
  EXPECT_EQ(defaults_of(optimizer_kind::adamw).weight_decay, 0.01);
  EXPECT_EQ(defaults_of(optimizer_kind::adadelta).learning_rate, 1.0);
  EXPECT_EQ(defaults_of(optimizer_kind::adadelta).rho, 0.95);
  EXPECT_EQ(defaults_of(optimizer_kind::sgd).beta1, std::nullopt);
  auto options = kind_options(optimizer_kind::rmsprop, 2);
  options.epsilon = 0.5;
  const auto filled = with_defaults(options);
  EXPECT_EQ(filled.learning_rate, 2.0);
  EXPECT_EQ(filled.epsilon, 0.5) << "what is given stays";
  EXPECT_EQ(filled.rho, 0.9);
  EXPECT_EQ(filled.beta1, std::nullopt);
}

TEST(optimizer, fifty_steps_match_pytorch_and_the_papers) {
  const auto reference = test::load_reference("optimizers.json");
  const auto& gradients = reference.at("gradients");
  ASSERT_EQ(gradients.size(), 50u);
  ASSERT_EQ(reference.at("cases").size(), 18u);
  for (const auto& [name, entry] : reference.at("cases").items()) {
    const auto rule = make_optimizer(options_of(entry.at("options")));
    auto parameters = test::flat<float>(reference.at("start"));
    const auto count = parameters.size();
    const optimizer_state state{rule->slot_count(), count};
    std::vector<float> next(count);
    size_t compared = 0;
    for (uint64_t t = 0; t < gradients.size(); ++t) {
      const auto gradient = test::flat<float>(gradients[t]);
      rule->update(rule->begin_step(t, 1, direction::descent),
                   {gradient.data(), parameters.data(), next.data(), 0, count}, state);
      parameters.swap(next);
      const auto after = entry.at("after").find(std::to_string(t + 1));
      if (after == entry.at("after").end())
        continue;
      ++compared;
      const auto expected = test::flat<float>(*after);
      for (size_t i = 0; i < count; ++i)
        EXPECT_NEAR(parameters[i], expected[i], 1e-5 * std::max(1.0f, std::abs(expected[i])))
          << name << " step " << t + 1 << " element " << i;
    }
    EXPECT_EQ(compared, 4u);
  }
}

TEST(optimizer, ascent_mirrors_descent) {
  single down{sgd_options(0.25, 0.5), 0};
  single up{sgd_options(0.25, 0.5), 0};
  for (float gradient : {1.0f, -3.0f, 0.5f})
    EXPECT_EQ(down.step(gradient), -up.step(gradient, 1, direction::ascent));
}

TEST(optimizer, rate_follows_the_schedule) {
  auto options = sgd_options(1);
  options.schedule = {schedule_kind::step, 2, 0.5};
  single x{options, 0};
  EXPECT_EQ(x.step(1), -1);
  EXPECT_EQ(x.step(1), -2);
  EXPECT_EQ(x.step(1), -2.5f);
}

TEST(optimizer, a_bad_gradient_leads_to_a_bad_parameter) {
  for (const auto& [kind, name] : element_wise_rules())
    for (double momentum : {0.0, 0.9})
      for (bool first_rate_is_zero : {false, true})
        for (float bad :
             {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
          optimizer_options options;
          options.kind = kind;
          options.momentum = momentum;
          if (first_rate_is_zero)
            options.schedule = {schedule_kind::warmup, 5};
          EXPECT_FALSE(std::isfinite(single(options, 1).step(bad))) << name << ' ' << momentum;
        }
}

TEST(optimizer, constants_out_of_range_are_refused) {
  using enum optimizer_kind;
  const auto refused = [](const settings& x) {
    EXPECT_THROW(make_optimizer(x), std::invalid_argument) << name_of(x.kind);
  };
  for (const auto& sgd : {sgd_options(0), sgd_options(NAN), sgd_options(0.1, 1),
                          sgd_options(0.1, -0.1), sgd_options(0.1, 0, true)})
    refused(sgd);
  auto no_steps = sgd_options(0.1);
  no_steps.schedule.steps = 0;
  refused(no_steps);
  for (auto kind : {adam, adamw, adamax, nadam, radam}) {
    refused(kind_options(kind, 0.1, {{&settings::beta1, 1}}));
    refused(kind_options(kind, 0.1, {{&settings::beta2, -0.1}}));
    refused(kind_options(kind, 0.1, {{&settings::epsilon, 0}}));
  }
  refused(kind_options(adagrad, 0.1, {{&settings::epsilon, 0}}));
  for (auto kind : {adadelta, rmsprop}) {
    refused(kind_options(kind, 0.1, {{&settings::rho, 1}}));
    refused(kind_options(kind, 0.1, {{&settings::epsilon, -1}}));
  }
  refused(kind_options(adamw, 0.1, {{&settings::weight_decay, -0.1}}));
  refused(kind_options(rprop, 0));
}

using floats = std::vector<float>;
using test::one_tensor;

const optimizer_options adafactor_options = [] {
  optimizer_options result;
  result.kind = optimizer_kind::adafactor;
  return result;
}();

parameter_layout matrix_and_vector() {
  parameter_layout layout;
  layout.add("layers.0.weight", {3, 4});
  layout.add("layers.0.bias", {3});
  return layout;
}

TEST(adafactor, takes_hand_worked_steps_on_a_vector) {
  test::whole_model_run run{adafactor_options, one_tensor({2}), {4, 4}};
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
  auto options = adafactor_options;
  options.learning_rate = 0.25;
  options.schedule = {schedule_kind::step, 1};
  test::whole_model_run run{options, one_tensor({1}), {4}};
  ASSERT_TRUE(run.step({1}));
  EXPECT_FLOAT_EQ(run.parameters[0], 3); // 4 - 4 * 0.25
  ASSERT_TRUE(run.step({1}));
  EXPECT_FLOAT_EQ(run.parameters[0], 2.925f); // the schedule's 0.1: 3 - 3 * 0.025
  options = adafactor_options;
  options.learning_rate = 5;
  test::whole_model_run capped{options, one_tensor({1}), {4}};
  ASSERT_TRUE(capped.step({1}));
  EXPECT_FLOAT_EQ(capped.parameters[0], 0) << "1 / sqrt(1) at most";
}

TEST(adafactor, a_matrix_of_rank_one_is_factored_exactly) {
  test::whole_model_run run{adafactor_options, one_tensor({2, 3}), floats(6, 1)};
  // Squares 1 4 9 and 4 16 36: V is G^2, so U is its sign.
  ASSERT_TRUE(run.step({1, -2, 3, 2, 4, -6}));
  for (size_t i = 0; i < 6; ++i)
    EXPECT_NEAR(run.parameters[i], i == 1 || i == 5 ? 1.01 : 0.99, 1e-6) << i;
}

TEST(adafactor, fifty_steps_match_the_paper) {
  const auto reference = test::load_reference("whole_vector_optimizers.json").at("adafactor");
  test::whole_model_run run{adafactor_options, matrix_and_vector(),
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
  test::whole_model_run run{adafactor_options, matrix_and_vector(), floats(15, 0.5f)};
  const auto gradient = [](uint64_t t) {
    floats g(15);
    for (size_t i = 0; i < g.size(); ++i)
      g[i] = static_cast<float>((3 * t + 5 * i) % 7) - 3;
    return g;
  };
  for (uint64_t t = 0; t < 4; ++t)
    ASSERT_TRUE(run.step(gradient(t)));
  test::whole_model_run other{adafactor_options, matrix_and_vector(), run.parameters};
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
  test::whole_model_run run{adafactor_options, matrix_and_vector(), floats(15, 0.5f)};
  for (int t = 0; t < 5; ++t)
    ASSERT_TRUE(run.step(floats(15, 0.0f)));
  EXPECT_EQ(run.parameters, floats(15, 0.5f));
}

TEST(adafactor, what_is_not_finite_is_not_applied) {
  test::whole_model_run run{adafactor_options, one_tensor({2}), {1, 1}};
  EXPECT_FALSE(run.step({1, std::numeric_limits<float>::infinity()}, 0, false));
  EXPECT_FALSE(run.step({1, 1e30f})) << "its square is no float";
}

} // namespace
} // namespace troupe::optimizer_test
