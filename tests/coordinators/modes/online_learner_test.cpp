// Online learning: a table of batches and verdicts, by hand; what is rolled back leaves no trace.

#include "coordinators/modes/online_learner.hpp"

#include "models/network/neural_network.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <random>

namespace troupe::online_learner_test {
namespace {

constexpr float nan_value = std::numeric_limits<float>::quiet_NaN();

// y = w x + b
std::shared_ptr<const model> line() {
  neural_network_options options;
  options.features = 1;
  options.outputs = 1;
  options.loss = loss_kind::squared;
  return std::make_shared<neural_network>(options);
}

online_rows rows(std::vector<float> x, std::vector<float> y) {
  return {std::move(x), {}, std::move(y)};
}

online_learner_options sgd_with(double learning_rate) {
  online_learner_options options;
  options.optimizer.learning_rate = learning_rate;
  return options;
}

std::vector<float> values(const online_learner& learner) {
  const auto span = learner.parameters().values();
  return {span.begin(), span.end()};
}

TEST(online_learner, first_update_is_the_one_worked_by_hand) {
  online_learner learner{line(), sgd_with(0.25)};
  learner.set_parameters(std::array{1.0f, 0.0f});
  EXPECT_FALSE(learner.enqueue(rows({2, 0}, {3, 1})));
  // Errors 2 - 3 and 0 - 1; loss (1 + 1) / 2; dw = (2 * -1 * 2 + 0) / 2, db = (-2 - 2) / 2.
  const auto report = learner.learn_next();
  ASSERT_TRUE(report);
  EXPECT_EQ(report->verdict, online_verdict::applied);
  EXPECT_DOUBLE_EQ(report->batch_loss, 1);
  EXPECT_EQ(report->version, 1u);
  EXPECT_EQ(values(learner), (std::vector<float>{1.5f, 0.5f}));
  EXPECT_FALSE(learner.learn_next());
}

TEST(online_learner, batches_are_taken_first_in_first_out) {
  online_learner learner{line(), sgd_with(0.01)};
  learner.set_parameters(std::array{0.0f, 0.0f});
  for (float y : {1.0f, 2.0f, 3.0f})
    EXPECT_FALSE(learner.enqueue(rows({0}, {y})));
  EXPECT_EQ(learner.queued_count(), 3u);
  double last_loss = 0;
  for (uint64_t batch : {0, 1, 2}) {
    const auto report = learner.learn_next();
    EXPECT_EQ(report->batch, batch);
    EXPECT_GT(report->batch_loss, last_loss);
    last_loss = report->batch_loss;
  }
}

TEST(online_learner, update_that_is_not_finite_leaves_no_trace) {
  for (auto kind : {optimizer_kind::sgd, optimizer_kind::adam}) {
    auto options = sgd_with(0.125);
    options.optimizer.kind = kind;
    options.optimizer.momentum = kind == optimizer_kind::sgd ? 0.5 : 0;
    online_learner learner{line(), options}, twin{line(), options};
    for (auto* one : {&learner, &twin}) {
      one->set_parameters(std::array{1.0f, 0.0f});
      one->enqueue(rows({1}, {3}));
      one->learn_next();
    }
    for (const auto& bad :
         {rows({nan_value}, {1}), rows({1}, {nan_value}), rows({1e30f}, {-1e30f})}) {
      const auto before = values(learner);
      EXPECT_FALSE(learner.enqueue(bad));
      const auto report = learner.learn_next();
      EXPECT_EQ(report->verdict, online_verdict::not_finite);
      EXPECT_TRUE(report->reason.starts_with("rolled back: ")) << report->reason;
      EXPECT_EQ(report->version, 1u);
      EXPECT_EQ(values(learner), before);
    }
    EXPECT_EQ(learner.rolled_back_count(), 3u);
    // The optimizer's state is what it was, too: the next update is the twin's.
    for (auto* one : {&learner, &twin}) {
      one->enqueue(rows({2}, {1}));
      EXPECT_EQ(one->learn_next()->verdict, online_verdict::applied);
    }
    EXPECT_EQ(values(learner), values(twin));
  }
}

TEST(online_learner, update_that_spoils_the_validation_loss_is_rolled_back) {
  auto options = sgd_with(0.5);
  options.loss_growth_max = 2;
  online_learner learner{line(), options};
  learner.set_parameters(std::array{0.0f, 1.0f});
  learner.set_validation(rows({0, 0}, {2, 2})); // loss (b - 2)^2: 1
  learner.enqueue(rows({0}, {-9}));             // b would become 1 - 0.5 * 20 = -9
  auto report = learner.learn_next();
  EXPECT_EQ(report->verdict, online_verdict::loss_grew);
  EXPECT_DOUBLE_EQ(report->loss_before, 1);
  EXPECT_DOUBLE_EQ(report->loss_after, 121);
  EXPECT_EQ(report->reason, "rolled back: the validation loss would go from 1 to 121, above 2");
  EXPECT_EQ(values(learner), (std::vector<float>{0, 1}));
  learner.enqueue(rows({0}, {0.75f})); // b becomes 0.75: the loss grows to 1.5625, within the limit
  report = learner.learn_next();
  EXPECT_EQ(report->verdict, online_verdict::applied);
  EXPECT_DOUBLE_EQ(report->loss_after, 1.5625);
  learner.enqueue(rows({0}, {0.75f}));
  EXPECT_DOUBLE_EQ(learner.learn_next()->loss_before, 1.5625) << "that of the parameters in use";
}

TEST(online_learner, noise_around_a_loss_of_zero_is_no_growth) {
  auto options = sgd_with(0.5);
  options.loss_floor = 0.25;
  options.loss_growth_max = 1;
  online_learner learner{line(), options};
  learner.set_parameters(std::array{0.0f, 2.0f});
  learner.set_validation(rows({0}, {2}));
  learner.enqueue(rows({0}, {2.5f})); // loss 0 becomes 0.25
  EXPECT_EQ(learner.learn_next()->verdict, online_verdict::applied);
  learner.enqueue(rows({0}, {2.75f})); // 0.5625
  EXPECT_EQ(learner.learn_next()->verdict, online_verdict::loss_grew);
}

TEST(online_learner, what_cannot_be_learned_is_refused_at_the_door) {
  auto options = sgd_with(0.1);
  options.queue_max = 2;
  online_learner learner{line(), options};
  EXPECT_EQ(learner.enqueue(rows({1}, {1}))->verdict, online_verdict::refused_no_model);
  learner.set_parameters(std::array{0.0f, 0.0f});
  for (const auto& bad : {rows({}, {}), rows({1, 2}, {1}), rows({1}, {1, 2})})
    EXPECT_EQ(learner.enqueue(bad)->verdict, online_verdict::refused_shape);
  EXPECT_EQ(learner.enqueue({{1}, {1}, {}})->reason,
            "the batch does not fit the model: 0 targets for 1 rows of 1");
  EXPECT_FALSE(learner.enqueue(rows({1}, {1})));
  EXPECT_FALSE(learner.enqueue(rows({1}, {1})));
  EXPECT_EQ(learner.enqueue(rows({1}, {1}))->verdict, online_verdict::refused_full);
}

TEST(online_learner, labels_must_be_those_of_the_model) {
  neural_network_options network;
  network.features = 1;
  network.outputs = 3;
  online_learner learner{std::make_shared<neural_network>(network), sgd_with(0.1)};
  learner.set_parameters(std::vector<float>(6, 0.0f));
  EXPECT_EQ(learner.enqueue({{1}, {3}, {}})->verdict, online_verdict::refused_shape);
  EXPECT_EQ(learner.enqueue({{1}, {-1}, {}})->verdict, online_verdict::refused_shape);
  EXPECT_EQ(learner.enqueue({{1}, {}, {1}})->verdict, online_verdict::refused_shape);
  EXPECT_FALSE(learner.enqueue({{1}, {2}, {}}));
  EXPECT_NEAR(learner.learn_next()->batch_loss, std::log(3.0), 1e-6);
  EXPECT_THROW(learner.set_validation({{1}, {3}, {}}), std::invalid_argument);
  EXPECT_THROW(learner.set_validation({{NAN}, {2}, {}}), std::invalid_argument)
    << "every update would be rolled back";
}

TEST(online_learner, constants_out_of_range_are_refused) {
  auto options = sgd_with(0.1);
  options.loss_growth_max = 0.5;
  EXPECT_THROW((online_learner{line(), options}), std::invalid_argument);
  options = sgd_with(0.1);
  options.queue_max = 0;
  EXPECT_THROW((online_learner{line(), options}), std::invalid_argument);
  EXPECT_THROW((online_learner{nullptr, sgd_with(0.1)}), std::invalid_argument);
  online_learner learner{line(), sgd_with(0.1)};
  EXPECT_THROW(learner.set_parameters(std::array{1.0f}), std::invalid_argument);
  EXPECT_THROW(learner.set_parameters(std::array{1.0f, nan_value}), std::invalid_argument);
}

// Whatever comes, the parameters in use are finite and their validation loss within bounds.
TEST(online_learner, random_walk_never_leaves_bad_parameters) {
  std::mt19937 random{11};
  std::uniform_int_distribution<int> kind{0, 5};
  std::normal_distribution<float> noise;
  auto options = sgd_with(0.05);
  options.loss_growth_max = 1.5;
  online_learner learner{line(), options};
  learner.set_parameters(std::array{0.0f, 0.0f});
  learner.set_validation(rows({-1, 0, 1}, {-1, 1, 3})); // y = 2 x + 1
  uint64_t applied = 0, rolled_back = 0;
  for (int i = 0; i < 2000; ++i) {
    const float x = noise(random), y = 2 * x + 1;
    switch (kind(random)) {
    case 0:
      learner.enqueue(rows({x}, {nan_value}));
      break;
    case 1:
      learner.enqueue(rows({x}, {1e6f}));
      break;
    default:
      learner.enqueue(rows({x}, {y}));
      break;
    }
    const auto report = learner.learn_next();
    ASSERT_TRUE(report);
    (report->verdict == online_verdict::applied ? applied : rolled_back) += 1;
    for (auto value : values(learner))
      ASSERT_TRUE(std::isfinite(value));
    ASSERT_EQ(learner.version(), applied);
    ASSERT_EQ(learner.rolled_back_count(), rolled_back);
  }
  EXPECT_GT(rolled_back, 500u);
  EXPECT_NEAR(learner.parameters().values()[0], 2, 1e-2);
  EXPECT_NEAR(learner.parameters().values()[1], 1, 1e-2);
}

} // namespace
} // namespace troupe::online_learner_test
