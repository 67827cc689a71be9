// Which model, loss and weights a job means, what it may not ask for, and what makes it another
// job.

#include "coordinators/job/job_check.hpp"
#include "coordinators/job/resolve.hpp"
#include "models/network/neural_network.hpp"

#include <gtest/gtest.h>

#include <functional>

namespace troupe::job_model_test {
namespace {

job synthetic(model_kind kind) {
  job x;
  x.data.synthetic = synthetic_kind::classification;
  x.model.kind = kind;
  return x;
}

/// 100 training rows of 4 features in two classes, 80 and 20 rows.
data_shape two_classes() {
  return {100, 0, 4, 2, true, {80, 20}};
}

data_shape numbers(double lowest) {
  return {100, 0, 4, 3, false, {}, lowest};
}

std::string key_of_problem(const job& x, const data_shape& shape) {
  const auto found = problems_with_data(resolve(x, shape, 1), shape);
  return found.empty() ? "" : found.front().key + ": " + found.front().why;
}

struct refused_job {
  const char* key;
  std::function<void(job&)> change;
};

const std::vector<refused_job> refused_jobs{
  {"model.loss", [](job& x) { x.model.loss = loss_kind::categorical_cross_entropy; }},
  {"model.loss", [](job& x) { x.model.loss = loss_kind::hinge; }},
  {"model.loss",
   [](job& x) {
     x.model.kind = model_kind::logistic_regression, x.model.loss = loss_kind::squared;
   }},
  {"model.loss",
   [](job& x) {
     x.model.kind = model_kind::softmax_regression;
     x.model.loss = loss_kind::binary_cross_entropy;
   }},
  {"model.hidden", [](job& x) { x.model.hidden = {3}; }},
  {"model.link", [](job& x) { x.model.link = link_kind::probit; }},
  {"model.huber_threshold", [](job& x) { x.model.huber_threshold = 0; }},
  {"model.dropout",
   [](job& x) {
     x.model.kind = model_kind::neural_network;
     x.model.hidden = {3};
     x.model.dropout = 1;
   }},
  {"model.dropout", [](job& x) { x.model.dropout = 0.5; }},
  {"model.initialization_scale", [](job& x) { x.model.initialization_scale = 0; }},
  {"model.activation",
   [](job& x) {
     x.model.kind = model_kind::neural_network;
     x.model.hidden = {3, 3, 3};
     x.model.activation = std::vector{activation_kind::relu, activation_kind::elu};
   }},
  {"training.class_weights",
   [](job& x) {
     x.training.class_weights = {class_weight_kind::list, {1, -1}};
   }},
  {"training.class_weights",
   [](job& x) {
     x.training.class_weights = {class_weight_kind::list, {0, 0}};
   }},
  {"training.class_weights",
   [](job& x) { x.training.class_weights.kind = class_weight_kind::list; }},
};

TEST(job_model, what_it_may_not_ask_for_is_one_problem_of_that_key) {
  EXPECT_TRUE(problems(synthetic(model_kind::linear_regression)).empty());
  for (const auto& [key, change] : refused_jobs) {
    auto x = synthetic(model_kind::linear_regression);
    change(x);
    const auto found = problems(x);
    ASSERT_EQ(found.size(), 1u) << key;
    EXPECT_EQ(found[0].key, key);
  }
}

TEST(job_model, each_kind_has_its_loss_and_wants_its_targets) {
  model_options x;
  x.kind = model_kind::linear_regression;
  EXPECT_EQ(loss_of(x, false), loss_kind::squared);
  EXPECT_EQ(wants_classes(x), false);
  x.kind = model_kind::logistic_regression;
  EXPECT_EQ(loss_of(x, true), loss_kind::binary_cross_entropy);
  EXPECT_EQ(wants_classes(x), true);
  x.kind = model_kind::neural_network;
  EXPECT_EQ(wants_classes(x), std::nullopt) << "the data decides";
  x.loss = loss_kind::hinge;
  EXPECT_EQ(wants_classes(x), true);
}

TEST(job_model, a_binary_loss_makes_one_output_of_two_classes) {
  auto x = synthetic(model_kind::logistic_regression);
  x.model.link = link_kind::arctan;
  const auto shape = two_classes();
  EXPECT_EQ(key_of_problem(x, shape), "");
  const auto network = make_model(resolve(x, shape, 1), shape);
  EXPECT_EQ(network->output_count(), 1u);
  EXPECT_EQ(network->prediction_count(), 2u);
  EXPECT_EQ(network->loss_with_constants().link, link_kind::arctan);
  auto three = shape;
  three.output_count = 3;
  EXPECT_EQ(key_of_problem(x, three),
            "model.loss: binary-cross-entropy needs exactly two classes, the data has 3");
}

TEST(job_model, the_classes_found_are_named_where_two_are_needed) {
  auto three = two_classes();
  three.output_count = 3;
  three.class_names = {"'B'", "'M'", "'benign'"};
  three.class_rows = {357, 211, 1};
  EXPECT_EQ(key_of_problem(synthetic(model_kind::logistic_regression), three),
            "model.loss: binary-cross-entropy needs exactly two classes, the data has 3: 'B' 357, "
            "'M' 211, 'benign' 1");
  three.output_count = 30;
  three.class_names.resize(30, "'x'");
  three.class_rows.resize(30, 2);
  EXPECT_TRUE(
    key_of_problem(synthetic(model_kind::logistic_regression), three).ends_with("'x' 2, 'x' 2, .."))
    << "not all of many";
}

TEST(job_model, a_class_without_training_rows_has_no_balanced_weight) {
  auto x = synthetic(model_kind::softmax_regression);
  auto shape = two_classes();
  shape.class_counts = {8, 0};
  EXPECT_EQ(key_of_problem(x, shape), "");
  x.training.class_weights.kind = class_weight_kind::balanced;
  EXPECT_EQ(key_of_problem(x, shape),
            "training.class_weights: class number 1 has no training rows, "
            "so there is no balanced weight for it");
  shape.class_names = {"'a'", "'b'"};
  EXPECT_TRUE(key_of_problem(x, shape).starts_with("training.class_weights: class 'b' has no"));
}

TEST(job_model, deviances_check_the_targets) {
  auto x = synthetic(model_kind::linear_regression);
  x.model.loss = loss_kind::poisson;
  EXPECT_EQ(key_of_problem(x, numbers(0)), "");
  EXPECT_EQ(key_of_problem(x, numbers(-0.5)),
            "model.loss: poisson needs targets of at least 0, the lowest is -0.5");
  x.model.loss = loss_kind::gamma;
  EXPECT_EQ(key_of_problem(x, numbers(0.1)), "");
  EXPECT_EQ(key_of_problem(x, numbers(0)),
            "model.loss: gamma needs targets above 0, the lowest is 0");
}

TEST(job_model, target_scales_check_the_targets_and_what_trains) {
  using enum target_scale_kind;
  auto x = synthetic(model_kind::neural_network);
  const struct {
    target_scale_kind scale;
    loss_kind loss;
    double lowest;
    const char* problem;
  } rows[] = {
    {target_scale_kind::log, loss_kind::huber, 0.1, ""},
    {target_scale_kind::log, loss_kind::squared, 0, "log needs targets above 0, the lowest is 0"},
    {log1p, loss_kind::squared, -0.5, ""},
    {log1p, loss_kind::squared, -1, "log1p needs targets above -1, the lowest is -1"},
    {asinh, loss_kind::absolute, -1e6, ""},
    {standardize, loss_kind::gamma, 1, "gamma is a loss of targets as they are"}};
  for (const auto& row : rows) {
    x.data.target_scale = row.scale;
    x.model.loss = row.loss;
    const std::string expected{row.problem};
    EXPECT_EQ(key_of_problem(x, numbers(row.lowest)),
              expected.empty() ? expected : "data.target_scale: " + expected);
  }
  x.model.loss.reset();
  x.data.target_scale.reset();
  EXPECT_EQ(key_of_problem(x, two_classes()), "") << "classes have no scale, by default";
  x.data.target_scale = standardize;
  EXPECT_EQ(key_of_problem(x, two_classes()),
            "data.target_scale: the targets are classes, not numbers");
}

TEST(job_model, networks_scale_targets_by_default) {
  using enum target_scale_kind;
  const struct {
    const char* what;
    target_scale_kind expected;
    void (*change)(job&);
  } rows[] = {{"a network", standardize, [](job&) {}},
              {"absolute", standardize, [](job& x) { x.model.loss = loss_kind::absolute; }},
              {"layers", standardize,
               [](job& x) {
                 x.model.own = {"chain", {}};
               }},
              {"as asked", none, [](job& x) { x.data.target_scale = none; }},
              {"a deviance", none, [](job& x) { x.model.loss = loss_kind::gamma; }},
              {"a line", none, [](job& x) { x.model.kind = model_kind::linear_regression; }},
              {"a solver", none, [](job& x) { x.optimizer.kind = optimizer_kind::gauss_newton; }},
              {"an application's kind", none,
               [](job& x) {
                 x.model.own = {"mine", {}};
               }},
              {"clients", none, [](job& x) { x.training.strategy = strategy_kind::federated; }}};
  for (const auto& row : rows) {
    auto x = synthetic(model_kind::neural_network);
    row.change(x);
    EXPECT_EQ(target_scale_of(x), row.expected) << row.what;
  }
  const auto x = synthetic(model_kind::neural_network);
  EXPECT_EQ(resolve(x, numbers(0), 1).data.target_scale, standardize);
  EXPECT_FALSE(resolve(x, two_classes(), 1).data.target_scale);
  EXPECT_NE(identity_text(resolve(x, numbers(0), 1), {}).find("data.target_scale = standardize"),
            std::string::npos);
}

TEST(job_model, class_weights_balance_or_are_as_listed) {
  auto x = synthetic(model_kind::softmax_regression);
  const auto shape = two_classes();
  EXPECT_TRUE(class_weights_of(x, shape).empty());
  x.training.class_weights.kind = class_weight_kind::balanced;
  EXPECT_EQ(class_weights_of(x, shape), (std::vector<float>{0.625f, 2.5f})) << "100 / (2 * 80)";
  EXPECT_EQ(make_model(resolve(x, shape, 1), shape)->loss_with_constants().class_weights,
            (std::vector<float>{0.625f, 2.5f}));
  x.training.class_weights = {class_weight_kind::list, {1, 3}};
  EXPECT_EQ(class_weights_of(x, shape), (std::vector<float>{1, 3}));
  x.training.class_weights.values.push_back(1);
  EXPECT_EQ(key_of_problem(x, shape), "training.class_weights: 3 weights for 2 classes");
  auto regression = synthetic(model_kind::linear_regression);
  regression.training.class_weights.kind = class_weight_kind::balanced;
  EXPECT_EQ(key_of_problem(regression, numbers(0)),
            "training.class_weights: the targets are numbers, not classes");
}

TEST(job_model, options_reach_the_network) {
  auto x = synthetic(model_kind::neural_network);
  x.model.hidden = {6, 5};
  x.model.activation = std::vector{activation_kind::gelu, activation_kind::tanh};
  x.model.bias = false;
  x.model.dropout = 0.5;
  x.model.loss = loss_kind::huber;
  x.model.huber_threshold = 3;
  const auto shape = numbers(0);
  const auto resolved = resolve(x, shape, 1);
  EXPECT_EQ(resolved.model.initialization, initialization_kind::he) << "gelu is of relu's kin";
  const auto made = make_model(resolved, shape);
  const auto& network = dynamic_cast<const neural_network&>(*made);
  EXPECT_EQ(network.chain().layers()[1].activation, activation_kind::tanh);
  EXPECT_FALSE(network.chain().layers()[0].has_bias);
  EXPECT_EQ(network.loss_with_constants().huber_threshold, 3);
}

TEST(job_model, what_counts_is_part_of_the_identity_and_nothing_else) {
  const auto shape = two_classes();
  const auto identity = [&](const job& x) { return identity_text(resolve(x, shape, 1), "data"); };
  auto base = synthetic(model_kind::neural_network);
  base.model.hidden = {4, 3};
  const std::vector<std::function<void(job&)>> counting{
    [](job& x) { x.model.bias = false; },
    [](job& x) { x.model.dropout = 0.5; },
    [](job& x) {
      x.model.activation = std::vector{activation_kind::relu, activation_kind::tanh};
    },
    [](job& x) { x.training.class_weights.kind = class_weight_kind::balanced; },
    [](job& x) {
      x.training.class_weights = {class_weight_kind::list, {1, 2}};
    },
    [](job& x) { x.model.loss = loss_kind::binary_cross_entropy; },
    [](job& x) { x.model.initialization = initialization_kind::normal; },
  };
  for (size_t i = 0; i < counting.size(); ++i) {
    auto x = base;
    counting[i](x);
    EXPECT_NE(identity(x), identity(base)) << i;
  }
  const std::vector<std::function<void(job&)>> idle{
    [](job& x) { x.model.huber_threshold = 5; },
    [](job& x) { x.model.initialization_scale = 5; },
    [](job& x) {
      x.training.class_weights.values = {1, 2};
    },
    [](job& x) {
      x.model.activation = std::vector{activation_kind::relu, activation_kind::relu};
    },
  };
  for (size_t i = 0; i < idle.size(); ++i) {
    auto x = base;
    idle[i](x);
    EXPECT_EQ(identity(x), identity(base)) << i;
  }
}

TEST(job_model, constants_of_a_loss_count_where_the_loss_uses_them) {
  const auto text = [](const job& x, const data_shape& shape) {
    return identity_text(resolve(x, shape, 1), "data");
  };
  auto x = synthetic(model_kind::logistic_regression);
  auto y = x;
  y.model.link = link_kind::tanh;
  EXPECT_NE(text(x, two_classes()), text(y, two_classes()));
  x = synthetic(model_kind::linear_regression);
  x.model.loss = loss_kind::huber;
  y = x;
  y.model.huber_threshold = 2;
  EXPECT_NE(text(x, numbers(0)), text(y, numbers(0)));
  x.model.initialization = initialization_kind::uniform;
  y = x;
  y.model.initialization_scale = 2;
  EXPECT_NE(text(x, numbers(0)), text(y, numbers(0)));
}

} // namespace
} // namespace troupe::job_model_test
