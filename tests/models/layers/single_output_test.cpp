// Products with one output against plain sums in double, for every kind of remainder.

#include "models/layers/single_output.hpp"

#include "models/base/random.hpp"
#include "models/network/neural_network.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace troupe::single_output_test {

namespace {

std::vector<float> uniform(size_t count, uint64_t seed) {
  std::vector<float> result(count);
  fill_uniform({seed, random_purpose::synthetic_features, 0}, 0, -1, 1, result);
  return result;
}

} // namespace

TEST(single_output, products_are_those_of_a_plain_loop) {
  for (size_t inputs : {1, 3, 15, 16, 17, 48, 100, 128, 131, 250})
    for (size_t rows : {1, 2, 4, 5, 11}) {
      const auto x = uniform(rows * inputs, 1);
      const auto weight = uniform(inputs, 2);
      const auto delta = uniform(rows, 3);
      std::vector<float> y(rows);
      single_output_forward(weight, x, y);
      std::vector<float> gradient(inputs, 0.5f);
      add_single_output_gradient(x, delta, gradient);
      for (size_t i = 0; i < rows; ++i) {
        double sum = 0;
        for (size_t j = 0; j < inputs; ++j)
          sum += double(x[i * inputs + j]) * double(weight[j]);
        EXPECT_NEAR(y[i], sum, 1e-5) << inputs << " " << rows;
      }
      for (size_t j = 0; j < inputs; ++j) {
        double sum = 0.5;
        for (size_t i = 0; i < rows; ++i)
          sum += double(x[i * inputs + j]) * double(delta[i]);
        EXPECT_NEAR(gradient[j], sum, 1e-5) << inputs << " " << rows;
      }
    }
}

// The kernels read beyond a row's end where there is a next row.
TEST(single_output, a_row_that_is_not_finite_does_not_show_in_its_neighbours) {
  constexpr size_t inputs = 19;
  constexpr size_t rows = 9;
  const auto weight = uniform(inputs, 2);
  const auto clean = uniform(rows * inputs, 1);
  std::vector<float> expected(rows);
  single_output_forward(weight, clean, expected);
  for (size_t bad = 0; bad < rows; ++bad) {
    auto x = clean;
    for (size_t j = 0; j < inputs; ++j)
      x[bad * inputs + j] = j % 2 ? std::numeric_limits<float>::infinity() : NAN;
    std::vector<float> y(rows);
    single_output_forward(weight, x, y);
    for (size_t i = 0; i < rows; ++i) {
      if (i == bad)
        EXPECT_TRUE(std::isnan(y[i]));
      else
        EXPECT_EQ(y[i], expected[i]) << "row " << i << " beside row " << bad;
    }
  }
}

TEST(single_output, a_rows_product_does_not_depend_on_how_many_rows_there_are) {
  constexpr size_t inputs = 37;
  const auto weight = uniform(inputs, 2);
  const auto x = uniform(7 * inputs, 1);
  std::vector<float> all(7);
  single_output_forward(weight, x, all);
  for (size_t i = 0; i < 7; ++i) {
    std::vector<float> alone(1);
    single_output_forward(weight, std::span{x}.subspan(i * inputs, inputs), alone);
    EXPECT_EQ(alone[0], all[i]);
  }
}

// A linear model's gradient is made in pieces of rows: their number does not show but in rounding.
TEST(single_output, gradient_of_many_rows_is_the_sum_of_those_of_its_parts) {
  neural_network_options options;
  options.features = 100;
  options.outputs = 1;
  options.loss = loss_kind::squared;
  const neural_network model{options};
  constexpr size_t rows = 1'001;
  const auto x = uniform(rows * 100, 1);
  const auto targets = uniform(rows, 4);
  const auto parameters = uniform(model.layout().size(), 5);
  workspace memory;
  batch all;
  all.row_count = rows;
  all.features = x;
  all.targets = targets;
  std::vector<float> whole(model.layout().size());
  const auto sums = model.gradient(parameters, all, whole, memory);
  EXPECT_EQ(sums.sample_count, rows);
  std::vector<double> expected(whole.size());
  double loss = 0;
  for (size_t i = 0; i < rows; ++i) {
    std::vector<float> part(whole.size());
    loss += model.gradient(parameters, part_of(all, i, 1), part, memory).loss_sum;
    for (size_t j = 0; j < part.size(); ++j)
      expected[j] += double(part[j]);
  }
  EXPECT_NEAR(sums.loss_sum, loss, 1e-9 * loss);
  for (size_t j = 0; j < whole.size(); ++j)
    EXPECT_NEAR(whole[j], expected[j], 2e-3) << j;
}

} // namespace troupe::single_output_test
