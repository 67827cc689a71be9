// Importance of columns by a model whose weights say what it makes of each.

#include "data/model_file/importance.hpp"

#include <gtest/gtest.h>

#include <random>
#include <stdexcept>

namespace troupe::importance_test {
namespace {

/// y = 3 a + 0 b + c: of a and c it makes something, of b nothing.
saved_model line() {
  safetensors_file file;
  file.layout.add("layers.0.weight", {1, 3});
  file.layout.add("layers.0.bias", {1});
  file.values = {3, 0, 1, 0};
  file.metadata = {{"format", "troupe-model-1"},     {"kind", "linear-regression"},
                   {"activation", "relu"},           {"loss", "squared"},
                   {"features", R"(["a","b","c"])"}, {"target", R"(["y"])"}};
  return to_saved_model(std::move(file), "line");
}

dataset rows_of_line(size_t count) {
  std::mt19937 random{3};
  dataset rows;
  rows.row_count = count;
  rows.feature_count = 3;
  rows.feature_names = {"a", "b", "c"};
  rows.target_count = 1;
  rows.target_names = {"y"};
  for (size_t i = 0; i < count; ++i) {
    for (size_t j = 0; j < 3; ++j)
      rows.features.push_back(static_cast<float>(random() % 2048) / 1024 - 1);
    const auto* row = rows.features.data() + 3 * i;
    rows.targets.push_back(3 * row[0] + row[2]);
  }
  return rows;
}

TEST(importance, is_what_dealing_a_column_out_costs) {
  const auto model = line();
  const auto rows = rows_of_line(2000);
  const auto found = importance_of(model, rows, {.repeats = 10});
  EXPECT_NEAR(found.loss, 0, 1e-10);
  EXPECT_NEAR(found.score, 1, 1e-10) << "R2";
  ASSERT_EQ(found.columns.size(), 3u);
  // w^2 E (x - x')^2 = 2 w^2 var(x), and var(x) = 1 / 3.
  EXPECT_NEAR(found.columns[0].loss.mean, 6, 0.4);
  EXPECT_EQ(found.columns[1].loss.mean, 0);
  EXPECT_EQ(found.columns[1].loss.deviation, 0);
  EXPECT_NEAR(found.columns[2].loss.mean, 2.0 / 3, 0.05);
  EXPECT_GT(found.columns[0].loss.deviation, 0);
  EXPECT_NEAR(found.columns[0].score.mean, found.columns[0].loss.mean * 2000 / total_squares(rows),
              1e-9);
}

TEST(importance, has_the_same_bits_with_any_number_of_threads) {
  const auto model = line();
  const auto rows = rows_of_line(600);
  const auto one = importance_of(model, rows, {.repeats = 3, .seed = 5, .threads = 1});
  const auto more = importance_of(model, rows, {.repeats = 3, .seed = 5, .threads = 4});
  const auto other = importance_of(model, rows, {.repeats = 3, .seed = 6, .threads = 1});
  for (size_t c = 0; c < 3; ++c) {
    EXPECT_EQ(more.columns[c].loss.mean, one.columns[c].loss.mean);
    EXPECT_EQ(more.columns[c].loss.deviation, one.columns[c].loss.deviation);
    EXPECT_EQ(more.columns[c].score.mean, one.columns[c].score.mean);
  }
  EXPECT_NE(other.columns[0].loss.mean, one.columns[0].loss.mean);
}

TEST(importance, refuses_rows_that_are_not_the_models) {
  const auto model = line();
  auto rows = rows_of_line(10);
  rows.feature_count = 2;
  EXPECT_THROW(importance_of(model, rows, {}), std::invalid_argument);
  EXPECT_THROW(importance_of(model, rows_of_line(0), {}), std::invalid_argument);
  EXPECT_THROW(importance_of(model, rows_of_line(10), {.repeats = 0}), std::invalid_argument);
}

} // namespace
} // namespace troupe::importance_test
