// The promise of the same bits, for every optimizer with every change of the gradient.

#include "data/training_rows/batch_reader.hpp"
#include "tests/support/training.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace troupe::optimizer_bits_test {

namespace {

using test::small_job;

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
  {"l1 and l2",
   [](auto& x) {
     x.l1 = 0.01;
     x.l2 = 0.1;
   }},
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

} // namespace

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

namespace {

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

} // namespace

TEST(optimizer_bits, clipping_and_penalties_do_what_their_formulas_say) {
  auto both = changes[2];
  both.apply = [](auto& x) {
    x.l1 = 0.01;
    x.l2 = 0.1;
    x.clip_norm = 0.1;
  };
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

} // namespace troupe::optimizer_bits_test
