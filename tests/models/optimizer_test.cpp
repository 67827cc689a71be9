#include "troupe/models/optimizers/optimizer.hpp"

#include "troupe/tests/support/reference.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace troupe {

namespace {

/// One parameter, driven step by step.
class single {
public:
  single(const optimizer_options& options, float start)
    : rule_(make_optimizer(options)), state_(rule_->slot_count(), 1), value_(start) {}

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
  uint64_t t_ = 0;
};

optimizer_options sgd_options(double rate, double momentum = 0, bool nesterov = false) {
  optimizer_options options;
  options.learning_rate = rate;
  options.momentum = momentum;
  options.nesterov = nesterov;
  return options;
}

optimizer_options options_of(const nlohmann::json& x) {
  optimizer_options options;
  options.kind = *from_name<optimizer_kind>(x.at("kind").get<std::string>());
  options.learning_rate = x.value("learning_rate", options.learning_rate);
  options.momentum = x.value("momentum", options.momentum);
  options.nesterov = x.value("nesterov", options.nesterov);
  options.beta1 = x.value("beta1", options.beta1);
  options.beta2 = x.value("beta2", options.beta2);
  options.epsilon = x.value("epsilon", options.epsilon);
  return options;
}

} // namespace

TEST(optimizer, sgd_takes_hand_worked_steps) {
  single x{sgd_options(0.5), 1};
  EXPECT_EQ(x.step(2), 0);
  EXPECT_EQ(x.step(-1), 0.5f);
  EXPECT_EQ(x.step(8, 4), -0.5f) << "the sum is divided by its samples, once";
}

TEST(optimizer, momentum_takes_hand_worked_steps) {
  single x{sgd_options(0.5, 0.5), 0};
  EXPECT_EQ(x.step(4), -2);  // v = 4
  EXPECT_EQ(x.step(0), -3);  // v = 2
  EXPECT_EQ(x.step(-1), -3); // v = 0
}

TEST(optimizer, nesterov_takes_hand_worked_steps) {
  single x{sgd_options(0.5, 0.5, true), 0};
  EXPECT_EQ(x.step(4), -3);    // v = 4, direction 4 + 2
  EXPECT_EQ(x.step(0), -3.5f); // v = 2, direction 0 + 1
  EXPECT_EQ(x.step(-1), -3);   // v = 0, direction -1 + 0
}

TEST(optimizer, adam_takes_hand_worked_steps) {
  optimizer_options options;
  options.kind = optimizer_kind::adam;
  options.learning_rate = 0.1;
  single x{options, 1};
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

TEST(optimizer, fifty_steps_match_pytorch) {
  const auto reference = test::load_reference("optimizers.json");
  const auto& gradients = reference.at("gradients");
  ASSERT_EQ(gradients.size(), 50u);
  ASSERT_EQ(reference.at("cases").size(), 5u);
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
  for (const auto& [kind, name] : name_table<optimizer_kind>::entries)
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
  const auto refused = [](auto change) {
    optimizer_options options;
    change(options);
    EXPECT_THROW(make_optimizer(options), std::invalid_argument);
  };
  refused([](auto& x) { x.learning_rate = 0; });
  refused([](auto& x) { x.learning_rate = NAN; });
  refused([](auto& x) { x.momentum = 1; });
  refused([](auto& x) { x.momentum = -0.1; });
  refused([](auto& x) { x.nesterov = true; });
  refused([](auto& x) { x.schedule.steps = 0; });
  for (double optimizer_options::*beta : {&optimizer_options::beta1, &optimizer_options::beta2})
    refused([beta](auto& x) {
      x.kind = optimizer_kind::adam;
      x.*beta = 1;
    });
  refused([](auto& x) {
    x.kind = optimizer_kind::adam;
    x.epsilon = 0;
  });
}

} // namespace troupe
