#include "models/network/dropout.hpp"

#include "models/base/random.hpp"
#include "models/network/neural_network.hpp"
#include "tests/support/double_network.hpp"

#include <gtest/gtest.h>

#include <numeric>

namespace troupe::dropout_test {
namespace {

std::vector<float> mask_of(const batch& rows, double rate = 0.25, size_t units = 7,
                           uint32_t layer = 0) {
  std::vector<float> mask(rows.row_count * units);
  fill_dropout_mask(rate, rows, layer, {0, units}, mask);
  return mask;
}

batch rows_from(size_t first, size_t count) {
  batch rows{count, {}, {}, {}};
  rows.first_row = first;
  return rows;
}

TEST(dropout, silences_its_share_and_keeps_the_expectation) {
  const auto mask = mask_of(rows_from(0, 4000), 0.25, 50);
  const auto silent = std::ranges::count(mask, 0.0f);
  EXPECT_NEAR(static_cast<double>(silent) / 200'000, 0.25, 0.005);
  EXPECT_EQ(std::ranges::count(mask, static_cast<float>(1 / 0.75)) + silent, 200'000);
  EXPECT_NEAR(std::accumulate(mask.begin(), mask.end(), 0.0) / 200'000, 1, 0.01);
}

TEST(dropout, of_a_row_does_not_depend_on_the_batch_it_is_in) {
  const auto whole = mask_of(rows_from(0, 10));
  const auto part = mask_of(rows_from(4, 3));
  EXPECT_TRUE(std::equal(part.begin(), part.end(), whole.begin() + 4 * 7));
  const std::vector<uint32_t> numbers{9, 2};
  batch gathered = rows_from(0, 2);
  gathered.row_numbers = numbers;
  const auto mixed = mask_of(gathered);
  EXPECT_TRUE(std::equal(mixed.begin(), mixed.begin() + 7, whole.begin() + 9 * 7));
  EXPECT_TRUE(std::equal(mixed.begin() + 7, mixed.end(), whole.begin() + 2 * 7));
}

TEST(dropout, differs_by_seed_step_layer_and_row) {
  auto rows = rows_from(0, 20);
  const auto mask = mask_of(rows);
  EXPECT_NE(mask_of(rows, 0.25, 7, 1), mask);
  EXPECT_NE(mask_of(rows_from(1, 20)), mask);
  rows.step = 1;
  EXPECT_NE(mask_of(rows), mask);
  rows.step = 0;
  rows.seed = 1;
  EXPECT_NE(mask_of(rows), mask);
}

TEST(dropout, checks_rate_and_sizes) {
  std::vector<float> six(6), seven(7);
  EXPECT_THROW(fill_dropout_mask(0.5, rows_from(0, 1), 0, {0, 7}, six), std::invalid_argument);
  EXPECT_THROW(fill_dropout_mask(1, rows_from(0, 1), 0, {0, 7}, seven), std::invalid_argument);
  EXPECT_THROW(fill_dropout_mask(-0.1, rows_from(0, 1), 0, {0, 7}, seven), std::invalid_argument);
  EXPECT_THROW(apply_mask(six, seven, seven), std::invalid_argument);
  neural_network_options options{2, 2, {3}};
  options.dropout = 1;
  EXPECT_THROW(neural_network{options}, std::invalid_argument);
}

/// A network with one hidden layer of 6 units, and one row.
struct dropped_case {
  dropped_case() {
    options.dropout = 0.5;
    parameters.resize(neural_network{options}.layout().size());
    neural_network{options}.initialize(4, parameters);
    rows.first_row = 17;
    rows.step = 3;
  }

  neural_network_options options{3, 2, {6}, activation_kind::gelu, loss_kind::squared};
  std::vector<float> parameters;
  std::vector<float> features{0.5f, -1, 2};
  std::vector<float> targets{1, -1};
  batch rows{1, features, {}, targets};
  workspace memory;
};

TEST(dropout, is_off_in_evaluation_and_prediction) {
  dropped_case x;
  const neural_network dropping{x.options};
  x.options.dropout = 0;
  const neural_network plain{x.options};
  EXPECT_EQ(dropping.evaluate(x.parameters, x.rows, x.memory),
            plain.evaluate(x.parameters, x.rows, x.memory));
  std::vector<float> gradient(x.parameters.size());
  EXPECT_NE(dropping.gradient(x.parameters, x.rows, gradient, x.memory),
            plain.evaluate(x.parameters, x.rows, x.memory));
}

TEST(dropout, gradient_is_that_of_the_network_with_scaled_columns) {
  // Multiplying a hidden unit's output is multiplying its column of the next weight: a network
  // without dropout then has the same loss, and central differences of that loss are a witness.
  dropped_case x;
  const auto mask = mask_of(x.rows, 0.5, 6);
  ASSERT_GT(std::ranges::count(mask, 0.0f), 0);
  ASSERT_GT(std::ranges::count(mask, 2.0f), 0);
  const neural_network network{x.options};
  std::vector<float> gradient(x.parameters.size());
  const auto sums = network.gradient(x.parameters, x.rows, gradient, x.memory);
  const auto loss = [&](std::vector<double> parameters) {
    for (size_t j = 0; j < 2; ++j)
      for (size_t k = 0; k < 6; ++k)
        parameters[3 * 6 + 6 + j * 6 + k] *= mask[k];
    return test::loss_of_batch(x.options, parameters, x.rows);
  };
  const std::vector<double> exact{x.parameters.begin(), x.parameters.end()};
  EXPECT_NEAR(sums.loss_sum, loss(exact), 1e-5);
  for (size_t k = 0; k < gradient.size(); ++k) {
    auto above = exact, below = exact;
    above[k] += 1e-5;
    below[k] -= 1e-5;
    EXPECT_NEAR(gradient[k], (loss(above) - loss(below)) / 2e-5, 3e-5) << k;
  }
}

} // namespace
} // namespace troupe::dropout_test
