// The promise: in synchronous mode the trained bits depend on the job alone.

#include "tests/support/training.hpp"

#include "data/training_rows/batch_reader.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <mutex>
#include <set>

namespace troupe::same_bits_test {
namespace {

using test::small_job;

/// Bits of the reference run: one replica, one thread.
std::vector<float> alone(job x) {
  x.training.replicas = 1;
  return test::values_of(test::train_on(1, x).parameters);
}

struct odd_job {
  const char* name;
  std::function<void(job&)> change;
};

const std::vector<odd_job> odd_jobs{
  {"short last batch", [](job& x) { x.training.batch_size = 47; }},
  {"one-row batches", [](job& x) { x.training.batch_size = 1; }},
  {"one row is left for the last batch", [](job& x) { x.training.batch_size = 149; }},
  {"fewer rows than slices", [](job& x) { x.training.batch_size = 5; }},
  {"full batch", [](job& x) { x.training.batch_size = 0; }},
  {"no test rows", [](job& x) { x.data.test_fraction = 0; }},
  {"evaluation at the end only", [](job& x) { x.training.evaluate_every = 0; }},
  {"a last step within an epoch", [](job& x) { x.training.steps = 7; }},
  {"regression", [](job& x) { x.data.synthetic = synthetic_kind::regression, x.data.targets = 2; }},
  {"regression of transformed targets",
   [](job& x) {
     x.data.synthetic = synthetic_kind::regression, x.data.targets = 2;
     x.data.target_scale = target_scale_kind::asinh;
   }},
  {"softmax regression with momentum",
   [](job& x) {
     x.model.kind = model_kind::softmax_regression;
     x.model.hidden.clear();
     x.optimizer = {};
     x.optimizer.momentum = 0.9;
     x.optimizer.nesterov = true;
   }},
  {"dropout", [](job& x) { x.model.dropout = 0.3; }},
  {"dropout of a full batch", [](job& x) { x.model.dropout = 0.3, x.training.batch_size = 0; }},
  {"activations that keep their input, no bias, class weights",
   [](job& x) {
     x.model.hidden = {6, 5};
     x.model.activation = std::vector{activation_kind::gelu, activation_kind::silu};
     x.model.bias = false;
     x.training.class_weights.kind = class_weight_kind::balanced;
   }},
  {"logistic regression",
   [](job& x) {
     x.data.classes = 2, x.model = {}, x.model.kind = model_kind::logistic_regression;
   }},
  {"linear regression of the absolute loss",
   [](job& x) {
     x.data.synthetic = synthetic_kind::regression;
     x.model = {};
     x.model.kind = model_kind::linear_regression;
     x.model.loss = loss_kind::absolute;
   }},
  {"slices that are no power of two", [](job& x) { x.training.slices = 7; }},
  {"gradients rounded to bf16", [](job& x) { x.training.exchange = number_format::bf16; }},
};

TEST(same_bits, for_any_number_of_replicas_threads_and_shards) {
  auto x = small_job();
  const auto expected = alone(x);
  for (size_t replicas : {1u, 2u, 3u, 4u, 8u})
    for (size_t threads : {1u, 2u, 4u}) {
      x.training.replicas = replicas;
      const auto result = test::train_on(threads, x);
      EXPECT_EQ(test::values_of(result.parameters), expected) << replicas << ' ' << threads;
      for (auto samples : result.summary.samples_by_replica)
        EXPECT_GT(samples, 0u) << replicas << ' ' << threads;
    }
}

TEST(same_bits, when_the_model_is_cut_into_many_shards) {
  auto x = small_job();
  x.model.hidden = {700, 12}; // 15,051 parameters: 4 blocks
  const auto expected = alone(x);
  for (size_t shards : {1u, 2u, 3u, 4u, 9u}) {
    company_options options;
    options.shard_count = shards;
    EXPECT_EQ(test::train_company(2, x, options).parameters, expected) << shards << " shards";
  }
}

TEST(same_bits, in_the_odd_cases) {
  for (const auto& [name, change] : odd_jobs) {
    auto x = small_job();
    x.training.epochs = 2;
    change(x);
    const auto expected = alone(x);
    for (size_t replicas : {3u, 11u}) { // eleven: more than there are slices
      x.training.replicas = replicas;
      const auto result = test::train_on(2, x);
      EXPECT_EQ(test::values_of(result.parameters), expected) << name << ' ' << replicas;
      EXPECT_EQ(result.summary.stopped_by, x.training.steps ? "steps" : "epochs") << name;
    }
  }
}

TEST(same_bits, in_any_order_of_messages) {
  auto x = small_job();
  const auto expected = alone(x);
  for (size_t replicas : {2u, 4u, 9u})
    for (uint64_t seed = 0; seed < 15; ++seed) {
      x.training.replicas = replicas;
      company_options options;
      hooks_of(options).keeps_slices_apart = seed % 2 == 0;
      EXPECT_EQ(test::train_in_order(x, seed, options).parameters, expected)
        << replicas << ' ' << seed;
    }
}

TEST(same_bits, in_any_order_when_some_replicas_have_no_rows) {
  auto x = small_job();
  x.training.batch_size = 3;
  x.training.epochs = 1;
  const auto expected = alone(x);
  x.training.replicas = 8;
  x.training.slices = 8;
  for (uint64_t seed = 0; seed < 20; ++seed)
    EXPECT_EQ(test::train_in_order(x, seed).parameters, expected) << seed;
}

TEST(same_bits, need_the_tree_as_sums_in_order_of_arrival_show) {
  auto x = small_job();
  x.training.replicas = 4;
  company_options broken;
  hooks_of(broken).keeps_slices_apart = true;
  hooks_of(broken).add_in_order_of_arrival = true;
  std::set<std::vector<float>> in_seeded_order;
  for (uint64_t seed = 0; seed < 20; ++seed)
    in_seeded_order.insert(test::train_in_order(x, seed, broken).parameters);
  EXPECT_GT(in_seeded_order.size(), 1u);
}

TEST(same_bits, change_with_the_job) {
  const auto expected = alone(small_job());
  const std::vector<std::function<void(job&)>> changes{
    [](job& x) { x.seed = 6; },
    [](job& x) { x.training.slices = 9; },
    [](job& x) { x.training.batch_size = 33; },
    [](job& x) { x.optimizer.learning_rate = 0.011; },
    [](job& x) { x.training.exchange = number_format::bf16; },
    [](job& x) { x.data.standardize = true; },
    [](job& x) { x.model.dropout = 0.1; },
    [](job& x) { x.model.activation = activation_kind::elu; },
    [](job& x) {
      x.training.class_weights = {class_weight_kind::list, {1, 1, 2}};
    }};
  for (const auto& change : changes) {
    auto x = small_job();
    change(x);
    EXPECT_NE(alone(x), expected);
  }
}

TEST(same_bits, whether_siblings_are_added_by_the_replica_or_the_shard) {
  auto x = small_job();
  for (size_t slices : {8u, 7u, 13u})
    for (size_t replicas : {1u, 2u, 3u}) {
      for (const auto format : {number_format::float32, number_format::bf16}) {
        x.training.slices = slices;
        x.training.exchange = format;
        x.training.replicas = 1;
        const auto expected = alone(x);
        x.training.replicas = replicas;
        company_options options;
        hooks_of(options).keeps_slices_apart = true;
        EXPECT_EQ(test::train_company(2, x, options).parameters, expected)
          << slices << ' ' << replicas;
      }
    }
}

// Plain descent from zero with 64 rows and a rate of 1: the parameters are the mean gradient, 2^-6 of the sum.
TEST(same_bits, of_rounded_gradients_are_those_of_the_definition) {
  auto x = small_job();
  x.data.synthetic = synthetic_kind::regression;
  x.data.rows = 64;
  x.data.test_fraction = 0;
  x.model = {};
  x.model.kind = model_kind::linear_regression;
  x.model.initialization = initialization_kind::zero;
  x.optimizer = {};
  x.optimizer.learning_rate = 1;
  x.training.batch_size = 0;
  x.training.slices = 1;
  x.training.epochs = 1;
  auto expected = alone(x);
  x.training.exchange = number_format::bf16;
  const auto whole = expected;
  round_to(number_format::bf16, expected);
  EXPECT_NE(whole, expected);
  EXPECT_EQ(alone(x), expected);
  // A sum is one of the format, too.
  x.training.slices = 8;
  auto sums = alone(x);
  const auto same = sums;
  round_to(number_format::bf16, sums);
  EXPECT_EQ(sums, same);
  EXPECT_NE(sums, expected);
}

TEST(same_bits, a_replica_hands_in_the_largest_sums_of_its_slices) {
  auto x = small_job();
  x.training.slices = 8;
  x.training.replicas = 2;
  std::mutex guard;
  std::set<std::vector<tree_node>> seen;
  company_options options;
  hooks_of(options).on_applied = [&](const applied_step& step) {
    const std::lock_guard lock{guard};
    seen.insert(step.nodes);
  };
  test::train_company(2, x, options);
  EXPECT_EQ(seen, (std::set<std::vector<tree_node>>{{{0, 4}, {4, 8}}}));
}

TEST(same_bits, of_the_losses_in_the_history_too) {
  auto x = small_job();
  const auto one = test::train_on(1, x);
  x.training.replicas = 5;
  const auto five = test::train_on(2, x);
  ASSERT_EQ(one.history.size(), 3u);
  ASSERT_EQ(five.history.size(), 3u);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(one.history[i].train_loss, five.history[i].train_loss);
    EXPECT_EQ(one.history[i].test_loss, five.history[i].test_loss);
    EXPECT_EQ(one.history[i].test_accuracy, five.history[i].test_accuracy);
  }
}

// The promise of the same bits, for every optimizer with every change of the gradient.

struct change {
  const char* name;
  std::function<void(optimizer_options&)> apply;
};

/// False for what the checks of a job refuse.
bool fits(optimizer_kind kind, const optimizer_options& x) {
  if (scope_of(kind) == optimizer_scope::solver)
    return false; // one actor: nothing could differ
  return kind != optimizer_kind::lbfgs || (x.l1 == 0 && x.clip_value == 0 && x.clip_norm == 0);
}

const std::vector<change> changes{
  {"none", [](auto&) {}},
  {"clip_value", [](auto& x) { x.clip_value = 0.01; }},
  {"l1 and l2", [](auto& x) { x.l1 = 0.01, x.l2 = 0.1; }},
  {"clip_norm", [](auto& x) { x.clip_norm = 0.1; }},
  {"l2", [](auto& x) { x.l2 = 0.1; }},
};

job job_of(optimizer_kind kind, const change& change) {
  auto x = small_job();
  x.optimizer = {};
  x.optimizer.kind = kind;
  change.apply(x.optimizer);
  if (needs_all_rows(kind))
    x.training.batch_size = 0;
  x.training.epochs = needs_all_rows(kind) ? 6 : 2;
  return x;
}

std::vector<float> trained(job x, size_t replicas, size_t threads) {
  x.training.replicas = replicas;
  return test::values_of(test::train_on(threads, x).parameters);
}

/// 15,051 parameters: 4 blocks.
job wide_job(double clip_norm) {
  auto x = small_job();
  x.model.hidden = {700, 12};
  x.optimizer.clip_norm = clip_norm;
  x.training.epochs = 1;
  return x;
}

std::vector<float> cut_into(size_t shards, const job& x) {
  company_options options;
  options.shard_count = shards;
  return test::train_company(2, x, options).parameters;
}

TEST(optimizer_bits, do_not_depend_on_the_replicas) {
  for (const auto& [kind, name] : name_table<optimizer_kind>::entries) {
    std::vector<float> plain;
    for (const auto& change : changes) {
      const auto x = job_of(kind, change);
      if (!fits(kind, x.optimizer))
        continue;
      const auto expected = trained(x, 1, 1);
      if (plain.empty()) {
        plain = expected;
      } else if (kind != optimizer_kind::rprop || x.optimizer.l2 > 0) { // rprop sees signs only
        EXPECT_NE(expected, plain) << name << ": " << change.name << " changes nothing";
      }
      for (size_t replicas : {2u, 4u})
        EXPECT_EQ(trained(x, replicas, 2), expected) << name << ' ' << change.name << replicas;
    }
  }
}

TEST(optimizer_bits, hold_for_every_model_with_every_optimizer_and_change) {
  for (const auto& [model, model_name] : name_table<model_kind>::entries)
    for (const auto& [kind, name] : name_table<optimizer_kind>::entries)
      for (const auto& change : changes) {
        auto x = job_of(kind, change);
        if (!fits(kind, x.optimizer))
          continue;
        x.training.epochs = needs_all_rows(kind) ? 3 : 1;
        x.model = {};
        x.model.kind = model;
        if (model == model_kind::linear_regression)
          x.data.synthetic = synthetic_kind::regression;
        if (model == model_kind::logistic_regression)
          x.data.classes = 2;
        if (model == model_kind::neural_network) {
          x.model.hidden = {5, 4};
          x.model.dropout = kind == optimizer_kind::lbfgs ? 0 : 0.25;
        }
        const auto expected = trained(x, 1, 1);
        for (size_t replicas : {2u, 4u})
          EXPECT_EQ(trained(x, replicas, 2), expected)
            << model_name << ' ' << name << ' ' << change.name << ' ' << replicas;
      }
}

TEST(optimizer_bits, of_a_clipped_norm_do_not_depend_on_the_shards) {
  const auto x = wide_job(0.5);
  const auto expected = cut_into(1, x);
  EXPECT_NE(expected, cut_into(1, wide_job(0)));
  for (size_t shards : {2u, 3u, 4u, 9u}) // nine: more than there are blocks
    EXPECT_EQ(cut_into(shards, x), expected) << shards << " shards";
}

TEST(optimizer_bits, of_a_clipped_norm_do_not_depend_on_the_order_of_messages) {
  auto x = wide_job(0.5);
  const auto expected = cut_into(1, x);
  company_options options;
  for (size_t shards : {2u, 4u})
    for (size_t replicas : {1u, 3u})
      for (uint64_t seed = 0; seed < 6; ++seed) {
        options.shard_count = shards;
        x.training.replicas = replicas;
        EXPECT_EQ(test::train_in_order(x, seed, options).parameters, expected)
          << shards << ' ' << replicas << ' ' << seed;
      }
}

TEST(optimizer_bits, of_a_whole_model_rule_do_not_depend_on_shards_or_order_of_messages) {
  for (auto kind : {optimizer_kind::adafactor, optimizer_kind::lbfgs})
    for (const auto& change : changes) {
      auto x = job_of(kind, change);
      if (!fits(kind, x.optimizer))
        continue;
      x.model.hidden = {700, 12}; // four blocks
      x.training.epochs = needs_all_rows(kind) ? 8 : 1;
      const auto expected = cut_into(1, x);
      EXPECT_EQ(cut_into(3, x), expected) << change.name;
      company_options options;
      options.shard_count = 3;
      for (uint64_t seed = 0; seed < 3; ++seed)
        EXPECT_EQ(test::train_in_order(x, seed, options).parameters, expected)
          << change.name << ' ' << seed;
    }
}

TEST(optimizer_bits, a_limit_that_is_never_reached_changes_none) {
  EXPECT_EQ(cut_into(3, wide_job(1e30)), cut_into(3, wide_job(0)));
}

TEST(optimizer_bits, of_penalties_do_not_depend_on_the_shards) {
  auto x = wide_job(0);
  x.optimizer.l1 = 0.01;
  x.optimizer.l2 = 0.1;
  const auto expected = cut_into(1, x);
  for (size_t shards : {2u, 3u, 4u})
    EXPECT_EQ(cut_into(shards, x), expected) << shards << " shards";
}

// The mean gradient as the job's keys change it, straight from their formulas.
void change_gradient(const optimizer_options& x, const parameter_layout& layout,
                     const std::vector<double>& p, std::vector<double>& gradient) {
  double squares = 0;
  for (double g : gradient)
    squares += g * g;
  const double norm = std::sqrt(squares);
  for (auto& g : gradient) {
    if (x.clip_value > 0)
      g = std::clamp(g, -x.clip_value, x.clip_value);
    if (x.clip_norm > 0 && norm > x.clip_norm)
      g *= x.clip_norm / norm;
  }
  for (const auto& tensor : layout.tensors())
    if (tensor.shape.size() == 2) // a weight
      for (size_t i = tensor.offset; i < tensor.offset + tensor.size; ++i)
        gradient[i] += x.l2 * p[i] + x.l1 * ((p[i] > 0) - (p[i] < 0));
}

std::vector<double> plain_descent(const job& x, size_t steps) {
  const auto data = load_data(x);
  const auto network = make_model(resolve(x, shape_of(*data), 1), shape_of(*data));
  std::vector<float> parameters(network->layout().size());
  std::vector<float> sum(parameters.size());
  network->initialize(x.seed, parameters);
  std::vector<double> p(parameters.begin(), parameters.end());
  workspace memory;
  for (size_t t = 0; t < steps; ++t) {
    std::ranges::transform(p, parameters.begin(), [](double v) { return static_cast<float>(v); });
    const auto rows = data->train.row_count;
    network->gradient(parameters, batch_of_rows(data->train, 0, rows), sum, memory);
    std::vector<double> gradient(sum.begin(), sum.end());
    for (auto& g : gradient)
      g /= static_cast<double>(rows);
    change_gradient(x.optimizer, network->layout(), p, gradient);
    for (size_t i = 0; i < p.size(); ++i)
      p[i] -= *x.optimizer.learning_rate * gradient[i];
  }
  return p;
}

TEST(optimizer_bits, clipping_and_penalties_do_what_their_formulas_say) {
  auto both = changes[2];
  both.apply = [](auto& x) { x.l1 = 0.01, x.l2 = 0.1, x.clip_norm = 0.1; };
  for (const auto& change : {changes[0], changes[1], changes[2], changes[3], both}) {
    auto x = job_of(optimizer_kind::sgd, change);
    x.optimizer.learning_rate = 0.5;
    x.training.batch_size = 0;
    x.training.epochs = 20;
    const auto expected = plain_descent(x, 20);
    const auto result = trained(x, 2, 2);
    ASSERT_EQ(result.size(), expected.size());
    for (size_t i = 0; i < result.size(); ++i)
      EXPECT_NEAR(result[i], expected[i], 2e-5) << change.name << ' ' << i;
  }
}

TEST(optimizer_bits, divergence_is_seen_although_gradients_are_clipped) {
  for (size_t which : {1u, 3u}) {
    auto x = job_of(optimizer_kind::sgd, changes[which]);
    x.optimizer.learning_rate = 1e38;
    EXPECT_EQ(test::train_on(2, x).summary.stopped_by, "diverged") << changes[which].name;
  }
}

} // namespace
} // namespace troupe::same_bits_test
