// Networks that read sparse rows: the same function as those of dense rows, to rounding, and the weights
// of a feature lie together.

#include "models/base/random.hpp"
#include "models/layers/dense.hpp"
#include "models/network/neural_network.hpp"
#include "tests/support/double_network.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>

namespace troupe::sparse_network_test {
namespace {

/// Rows of which about one value in three is not 0, dense and sparse; the fourth row is empty.
struct two_forms {
  two_forms(const neural_network_options& options, size_t row_count)
    : features(row_count * options.features), targets(row_count * options.outputs) {
    fill_normal({1, random_purpose::synthetic_features, 0}, 0, 1, features);
    fill_normal({1, random_purpose::synthetic_targets, 0}, 0, 1, targets);
    for (auto& target : targets)
      target = std::abs(target) + 0.1f;
    for (size_t i = 0; i < features.size(); ++i)
      if (i % 3 != 0 || i / options.features == 3)
        features[i] = 0;
    for (size_t i = 0; i < row_count; ++i) {
      const auto begin = numbers.size();
      for (size_t j = 0; j < options.features; ++j)
        if (const auto x = features[i * options.features + j]; x != 0) {
          numbers.push_back(static_cast<uint32_t>(j));
          values.push_back(x);
        }
      begins.push_back(begin);
      ends.push_back(numbers.size());
      labels.push_back(static_cast<int32_t>((i * 7 + 3) % std::max<size_t>(options.outputs, 2)));
    }
    dense.row_count = row_count;
    if (is_classification(options.loss.kind))
      dense.labels = labels;
    else
      dense.targets = targets;
    dense.seed = 5;
    dense.step = 3;
    dense.first_row = 11;
    sparse = dense;
    dense.features = features;
    sparse.sparse = {begins, ends, numbers.data(), values.data()};
  }

  std::vector<float> features, targets, values;
  std::vector<uint64_t> begins, ends;
  std::vector<uint32_t> numbers;
  std::vector<int32_t> labels;
  batch dense, sparse;
};

/// Parameters with biases that are not 0, in logical order.
std::vector<float> some_parameters(const model& network) {
  std::vector<float> result(network.layout().size());
  fill_normal({2, random_purpose::initialization, 0}, 0, 0.4f, result);
  return result;
}

std::vector<float> working(const model& network, const std::vector<float>& logical) {
  std::vector<float> result(logical.size());
  network.layout().to_working(logical, result);
  return result;
}

std::vector<float> logical_gradient(const model& network, const std::vector<float>& parameters,
                                    const batch& rows, batch_sums& sums) {
  workspace memory;
  std::vector<float> gradient(parameters.size(), -7.0f), result(parameters.size());
  sums = network.gradient(working(network, parameters), rows, gradient, memory);
  network.layout().to_logical(gradient, result);
  return result;
}

void expect_near(const std::vector<float>& expected, const std::vector<float>& actual) {
  ASSERT_EQ(expected.size(), actual.size());
  float largest = 1;
  for (float x : expected)
    largest = std::max(largest, std::abs(x));
  for (size_t i = 0; i < expected.size(); ++i)
    ASSERT_NEAR(expected[i], actual[i], 2e-6f * largest) << "element " << i;
}

void expect_same_function(neural_network_options options, size_t row_count) {
  SCOPED_TRACE(std::string{name_of(options.loss.kind)} + ", " +
               std::to_string(options.hidden.size()) + " hidden layers, outputs " +
               std::to_string(options.outputs));
  const two_forms x{options, row_count};
  const neural_network dense{options};
  options.sparse = true;
  const neural_network sparse{options};
  EXPECT_EQ(dense.layout().tensors(), sparse.layout().tensors());
  const auto parameters = some_parameters(dense);
  batch_sums expected, actual;
  expect_near(logical_gradient(dense, parameters, x.dense, expected),
              logical_gradient(sparse, parameters, x.sparse, actual));
  EXPECT_NEAR(actual.loss_sum, expected.loss_sum, 1e-5 * std::abs(expected.loss_sum));
  EXPECT_EQ(actual.sample_count, row_count);
  EXPECT_EQ(actual.correct_count, expected.correct_count);
  workspace memory;
  std::vector<float> predicted(row_count * dense.prediction_count()), others(predicted.size());
  dense.predict(working(dense, parameters), x.features, predicted, memory);
  sparse.predict(working(sparse, parameters), x.sparse, others, memory);
  expect_near(predicted, others);
}

neural_network_options options_of(loss_kind loss, std::vector<size_t> hidden, size_t outputs = 3) {
  return {9, is_binary(loss) ? 1 : outputs, std::move(hidden), activation_kind::gelu, loss};
}

TEST(sparse_layer, a_case_by_hand) {
  // Rows (2 at 0, 3 at 2), (), (-1 at 1); W of feature f is (10 f, f + 1).
  const std::vector<uint64_t> begins{0, 2, 2}, ends{2, 2, 3};
  const std::vector<uint32_t> features{0, 2, 1};
  const std::vector<float> values{2, 3, -1};
  const sparse_rows x{begins, ends, features.data(), values.data()};
  const sparse_dense_layer layer{{3, 2}};
  const std::vector<float> parameters{0, 1, 10, 2, 20, 3, 0.5f, -1};
  std::vector<float> y(6);
  layer.forward(parameters, x, y);
  EXPECT_EQ(y, (std::vector<float>{60.5f, 10, 0.5f, -1, -9.5f, -3}));
  const std::vector<float> delta{1, 2, 3, 4, 5, 6};
  std::vector<float> gradient(8, 99);
  layer.gradient(x, delta, gradient);
  EXPECT_EQ(gradient, (std::vector<float>{2, 4, -5, -6, 3, 6, 9, 12}));
  const sparse_dense_layer one{{3, 1}};
  std::vector<float> scores(3), sums(4, 99);
  one.forward(std::vector<float>{1, 2, 3, 0.5f}, x, scores);
  EXPECT_EQ(scores, (std::vector<float>{11.5f, 0.5f, -1.5f}));
  one.gradient(x, std::vector<float>{1, 10, 100}, sums);
  EXPECT_EQ(sums, (std::vector<float>{2, -100, 3, 111}));
  EXPECT_THROW(layer.forward(parameters, x, scores), std::invalid_argument);
  EXPECT_THROW(layer.gradient(x, delta, y), std::invalid_argument);
}

// More rows than one piece of a sweep.
TEST(sparse_network, is_the_function_of_dense_rows_for_every_loss) {
  for (const auto& [loss, name] : name_table<loss_kind>::entries)
    for (const size_t outputs : {1, 3, 20})
      for (const auto& hidden : {std::vector<size_t>{}, {1}, {6}, {7, 4}})
        if (!is_classification(loss) || is_binary(loss) || outputs > 1)
          for (const size_t rows : {7, 130})
            expect_same_function(options_of(loss, hidden, outputs), rows);
}

TEST(sparse_network, drops_units_as_dense_rows_do_and_may_lack_biases) {
  auto options = options_of(loss_kind::categorical_cross_entropy, {8, 5});
  options.dropout = 0.4;
  expect_same_function(options, 9);
  options.bias = false;
  expect_same_function(options, 9);
  options.hidden.clear();
  options.dropout = 0;
  expect_same_function(options, 9);
}

// Layers behind the first may be cut: theirs are other pieces of the same working order.
TEST(sparse_network, behind_the_first_layer_others_may_be_cut) {
  auto options = options_of(loss_kind::squared, {6, 7});
  options.parts = 2;
  options.cuts = {layer_cut::none, layer_cut::outputs, layer_cut::inputs};
  expect_same_function(options, 9);
  options.sparse = true;
  options.cuts = {layer_cut::outputs, layer_cut::inputs, layer_cut::none};
  EXPECT_THROW(neural_network{options}, std::invalid_argument);
}

TEST(sparse_network, gradients_match_central_differences_in_double) {
  for (const auto loss : {loss_kind::squared, loss_kind::categorical_cross_entropy})
    for (const auto& hidden : {std::vector<size_t>{}, {4}}) {
      neural_network_options options{9, 3, hidden, activation_kind::tanh, loss};
      const two_forms x{options, 6};
      options.sparse = true;
      const neural_network network{options};
      const auto parameters = some_parameters(network);
      batch_sums sums;
      const auto found = logical_gradient(network, parameters, x.sparse, sums);
      std::vector<double> exact(parameters.begin(), parameters.end());
      for (size_t k = 0; k < exact.size(); ++k) {
        const auto expected = test::central_difference(options, exact, x.dense, k);
        ASSERT_NEAR(found[k], expected, 2e-5 * std::max(1.0, std::abs(expected))) << k;
      }
    }
}

// A weight is the same function of seed and place in both forms, however the parameters are shared out.
TEST(sparse_network, starts_from_the_weights_of_dense_rows) {
  for (const auto& hidden : {std::vector<size_t>{}, {5}}) {
    neural_network_options options{9'000, 3, hidden, activation_kind::relu};
    const neural_network dense{options};
    options.sparse = true;
    const neural_network sparse{options};
    std::vector<float> expected(dense.layout().size()), whole(expected.size()),
      parts(expected.size()), logical(expected.size());
    dense.initialize(7, expected);
    sparse.initialize(7, whole);
    sparse.layout().to_logical(whole, logical);
    EXPECT_EQ(expected, logical);
    for (size_t begin = 0; begin < parts.size(); begin += 6'001) {
      const auto end = std::min<size_t>(begin + 6'001, parts.size());
      sparse.initialize(7, {begin, end}, std::span{parts}.subspan(begin, end - begin));
    }
    EXPECT_EQ(whole, parts);
  }
}

TEST(sparse_network, refuses_rows_of_the_other_form) {
  auto options = options_of(loss_kind::categorical_cross_entropy, {});
  const two_forms x{options, 6};
  const neural_network dense{options};
  options.sparse = true;
  const neural_network sparse{options};
  std::vector<float> parameters(dense.layout().size()), gradient(parameters.size());
  workspace memory;
  EXPECT_THROW(dense.gradient(parameters, x.sparse, gradient, memory), std::invalid_argument);
  EXPECT_THROW(sparse.gradient(parameters, x.dense, gradient, memory), std::invalid_argument);
  EXPECT_THROW(sparse.score_derivatives(parameters, x.features, 0, gradient, memory),
               std::invalid_argument);
}

} // namespace
} // namespace troupe::sparse_network_test
