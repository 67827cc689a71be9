// Training on rows that an application gives part by part, in windows, and without an end.

#include "actors/run/job_data.hpp"
#include "data/checkpoint/checkpoint_store.hpp"
#include "data/rows_file/rows_writer.hpp"
#include "data/text/failure.hpp"
#include "data/training_rows/synthetic.hpp"
#include "tests/support/failure_of.hpp"
#include "tests/support/rows/memory_supply.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/support/training.hpp"

#include <caf/actor_system.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <string>

namespace troupe::supplied_training_test {
namespace {

// In windows of rows that lie in a file, or with the application: the same model; and all of them in memory.
TEST(training,
     rows_that_an_application_gives_part_by_part_are_trained_on_as_if_from_a_file_or_from_memory) {
  auto x = test::small_job();
  const auto rows = make_classification(x.data, 3);
  const auto supply = std::make_shared<test::memory_supply>(rows);
  x.data.synthetic = synthetic_kind::none;
  x.data.standardize = true;
  const auto in_memory = test::train_on(2, x, prepare_data(x, rows));
  EXPECT_EQ(test::train_on(3, x, prepare_data(x, supply)).summary.parameters_sha256,
            in_memory.summary.parameters_sha256);
  const temporary_folder folder;
  write_rows(folder.path("rows"), rows, 16);
  x.data.shuffle = shuffle_kind::lanes;
  x.data.lanes = {.chunk_rows = 16, .window_rows = 64};
  x.data.validation_fraction = 0.1;
  auto of_file = x;
  of_file.data.file = folder.path("rows");
  const auto data = prepare_data(x, supply);
  EXPECT_TRUE(data->stays_in_file());
  const auto first = test::train_on(2, of_file, load_data(of_file));
  const auto again = test::train_on(3, x, data);
  EXPECT_EQ(again.summary.parameters_sha256, first.summary.parameters_sha256);
  EXPECT_EQ(again.summary.job_sha256, first.summary.job_sha256);
  EXPECT_EQ(again.summary.test_loss, first.summary.test_loss);
}

TEST(supplied_training, a_supply_whose_rows_change_ends_the_run_with_the_rows) {
  auto x = test::small_job();
  const auto supply = std::make_shared<test::memory_supply>(make_classification(x.data, 3));
  x.data.synthetic = synthetic_kind::none;
  x.data.shuffle = shuffle_kind::lanes;
  x.data.lanes = {.chunk_rows = 16, .window_rows = 64};
  const auto data = prepare_data(x, supply);
  supply->on_read = [](uint64_t begin, const row_room& out) {
    if (begin == 32)
      out.features[0] += 1;
  };
  const auto error = test::failure_of([&] { test::train_on(2, x, data); });
  EXPECT_NE(std::string{error.what()}.find("rows 32 to 47"), std::string::npos) << error.what();
}

/// y = 3 a - b + 0.5 for rows that follow from their numbers.
class counted_rows : public row_supply {
public:
  dataset form() const override {
    dataset result;
    result.feature_count = 2;
    result.feature_names = {"a", "b"};
    result.target_count = 1;
    result.target_names = {"y"};
    return result;
  }
  uint64_t row_count() const override { return 100; }
  bool is_endless() const override { return true; }
  void read(uint64_t begin, const row_room& out) const override {
    for (size_t i = 0; i < out.targets.size(); ++i) {
      out.features[2 * i] = value(begin + i, 7);
      out.features[2 * i + 1] = value(begin + i, 11);
      out.targets[i] = 3 * out.features[2 * i] - out.features[2 * i + 1] + 0.5f + shift;
      last_row = std::max<uint64_t>(last_row, begin + i);
    }
  }
  static float value(uint64_t row, uint64_t key) {
    return static_cast<float>(row * key % 101) / 101;
  }

  std::atomic<float> shift = 0;
  mutable std::atomic<uint64_t> last_row = 0;
};

job job_without_end() {
  job x;
  x.model.kind = model_kind::linear_regression;
  x.model.loss = loss_kind::squared;
  x.model.initialization = initialization_kind::zero;
  x.optimizer.learning_rate = 0.1;
  x.training.batch_size = 16; // seven steps an epoch, the last of four rows
  x.training.slices = 4;
  x.training.replicas = 1;
  x.training.epochs = 40;
  return x;
}

TEST(supplied_training, rows_without_an_end_come_once_each_and_in_their_order) {
  auto x = job_without_end();
  const auto supply = std::make_shared<counted_rows>();
  const auto first = test::train_on(1, x, prepare_data(x, supply));
  EXPECT_EQ(first.summary.steps, 280u);
  EXPECT_EQ(supply->last_row, 3999u);
  // Descent by hand, in double: the mean gradient of the squared error.
  double w[3] = {};
  for (uint64_t row = 0; row < 4000;) {
    const auto count = row % 100 == 96 ? 4u : 16u;
    double g[3] = {};
    for (const auto end = row + count; row < end; ++row) {
      const double a = counted_rows::value(row, 7), b = counted_rows::value(row, 11);
      const double error = w[0] * a + w[1] * b + w[2] - (3 * a - b + 0.5);
      g[0] += error * a;
      g[1] += error * b;
      g[2] += error;
    }
    for (size_t i = 0; i < 3; ++i)
      w[i] -= 0.1 * 2 * g[i] / count;
  }
  for (size_t i = 0; i < 3; ++i)
    EXPECT_NEAR(first.parameters.values()[i], w[i], 1e-4) << i;
  x.training.replicas = 3;
  EXPECT_EQ(test::train_on(3, x, prepare_data(x, supply)).summary.parameters_sha256,
            first.summary.parameters_sha256);
  x.training.epochs = 41;
  EXPECT_NE(test::train_on(3, x, prepare_data(x, supply)).summary.parameters_sha256,
            first.summary.parameters_sha256);
}

TEST(supplied_training, rows_without_an_end_are_judged_by_rows_that_are_handed_over) {
  auto x = job_without_end();
  supply_options options;
  options.test = make_regression({.rows = 30, .features = 2}, 1);
  options.test->feature_names = {"a", "b"};
  const auto result =
    test::train_on(2, x, prepare_data(x, std::make_shared<counted_rows>(), options));
  const auto w = result.parameters.values();
  double loss = 0;
  for (size_t i = 0; i < 30; ++i) {
    const double error = w[0] * options.test->features[2 * i] +
                         w[1] * options.test->features[2 * i + 1] + w[2] - options.test->targets[i];
    loss += error * error / 30;
  }
  EXPECT_NEAR(*result.summary.test_loss, loss, 1e-5);
  x.data.test_fraction = 0.2;
  EXPECT_EQ(test::failure_of([&] { prepare_data(x, std::make_shared<counted_rows>()); }).where(),
            "data.test_fraction");
  x.data.test_fraction = 0;
  x.optimizer.kind = optimizer_kind::lbfgs;
  EXPECT_EQ(test::failure_of([&] { prepare_data(x, std::make_shared<counted_rows>()); }).where(),
            "optimizer.kind");
}

// A run that goes on from a checkpoint asks for the rows of its next step; one that goes back has to find the same.
TEST(supplied_training, rows_without_an_end_go_on_where_a_checkpoint_stands) {
  auto x = job_without_end();
  x.checkpoint.every_steps = 100;
  const auto supply = std::make_shared<counted_rows>();
  const auto data = prepare_data(x, supply);
  const auto whole = test::train_on(2, x, data);
  const temporary_folder folder;
  const auto store = std::make_shared<checkpoint_store>(posix_disk(), folder.path(), 100);
  x.training.steps = 100;
  test::real_system host{2};
  train_options options;
  options.checkpoints = store;
  train(*host.system, x, data, options);
  options.resume_from = store->latest(whole.summary.job_sha256).newest;
  x.training.steps.reset();
  supply->last_row = 0;
  const auto resumed = train(*host.system, x, prepare_data(x, supply), options);
  EXPECT_EQ(resumed.summary.parameters_sha256, whole.summary.parameters_sha256);
  supply->shift = 1;
  const auto error = test::failure_of([&] { test::train_on(2, x, data); });
  EXPECT_NE(std::string{error.what()}.find("not those that were read at first"), std::string::npos);
}

} // namespace
} // namespace troupe::supplied_training_test
