// A model that several actors carry has the bits of one that a single actor carries.

#include "actors/run/model_writer.hpp"
#include "data/model_file/safetensors.hpp"
#include "data/model_file/saved_model.hpp"
#include "data/training_rows/batch_reader.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/support/training.hpp"

#include <gtest/gtest.h>

#include <numeric>

namespace troupe::split_bits_test {
namespace {

job cut_job() {
  auto x = test::small_job();
  x.model.hidden = {14, 9, 11};
  x.model.cuts = 4;
  x.model.cut = {layer_cut::outputs, layer_cut::inputs, layer_cut::none, layer_cut::outputs};
  x.training.epochs = 2;
  x.training.replicas = 1;
  return x;
}

struct outcome {
  std::vector<float> parameters;
  std::vector<history_row> history;
};

outcome alone(job x) {
  x.parallel = {};
  x.training.replicas = 1;
  auto result = test::train_on(1, x);
  return {test::values_of(result.parameters), result.history};
}

/// Rows but for the time they were made.
void expect_same_rows(std::vector<history_row> a, std::vector<history_row> b,
                      const std::string& where) {
  ASSERT_EQ(a.size(), b.size()) << where;
  for (size_t i = 0; i < a.size(); ++i) {
    a[i].seconds = b[i].seconds = 0;
    EXPECT_EQ(a[i], b[i]) << where << ", row " << i;
  }
}

std::string text_of(const job& x) {
  return "data " + std::to_string(*x.training.replicas) + ", tensor " +
         std::to_string(x.parallel.tensor) + ", pipeline " + std::to_string(x.parallel.pipeline);
}

// Whether all shares of the work were told in time: a busy machine may let a replica answer too late.
bool train_once(const job& x, const outcome& expected, size_t threads) {
  const auto where = text_of(x) + ", threads " + std::to_string(threads);
  const auto result = test::train_on(threads, x);
  EXPECT_EQ(test::values_of(result.parameters), expected.parameters) << where;
  // Not by one who does it all: each member of a group works on each of its group's rows.
  const auto& shares = result.summary.samples_by_replica;
  const auto members = x.parallel.group_size();
  EXPECT_EQ(shares.size(), *x.training.replicas * members) << where;
  expect_same_rows(result.history, expected.history, where);
  const auto sum = std::reduce(shares.begin(), shares.end());
  EXPECT_LE(sum, result.summary.samples * members) << where;
  return sum == result.summary.samples * members;
}

void expect_same(const job& x, const outcome& expected, size_t threads) {
  for (int attempt = 0; attempt < 10; ++attempt)
    if (train_once(x, expected, threads))
      return;
  ADD_FAILURE() << "some share of the work is missing each time: " << text_of(x);
}

TEST(split_bits, do_not_depend_on_who_carries_what) {
  auto x = cut_job();
  const auto expected = alone(x);
  for (size_t tensor : {1u, 2u, 3u, 4u})
    for (size_t pipeline : {1u, 2u, 3u})
      for (size_t groups : {1u, 2u, 3u}) {
        x.parallel.tensor = tensor;
        x.parallel.pipeline = pipeline;
        x.training.replicas = groups;
        expect_same(x, expected, 1 + (tensor + groups) % 3);
      }
}

TEST(split_bits, do_not_depend_on_it_where_gradients_are_rounded) {
  auto x = cut_job();
  x.training.exchange = number_format::bf16;
  const auto expected = alone(x);
  EXPECT_NE(expected.parameters, alone(cut_job()).parameters);
  for (const bool sharded : {false, true})
    for (size_t groups : {1u, 3u}) {
      x.parallel.sharded = sharded;
      x.parallel.tensor = sharded ? 1 : 2;
      x.parallel.pipeline = sharded ? 1 : 2;
      x.training.replicas = groups;
      expect_same(x, expected, 2);
    }
}

// Tile by tile, all slices of a segment one after the other; in one process nothing is fetched.
TEST(split_bits, do_not_depend_on_the_order_of_segments) {
  auto x = cut_job();
  const auto expected = alone(x);
  x.parallel.sharded = true;
  for (size_t groups : {1u, 2u, 3u}) {
    x.training.replicas = groups;
    expect_same(x, expected, groups);
  }
  for (uint64_t seed = 0; seed < 10; ++seed) {
    company_options options;
    hooks_of(options).keeps_slices_apart = seed % 3 == 0;
    options.shard_count = 1 + seed % 3;
    EXPECT_EQ(test::train_in_order(x, seed, options).parameters, expected.parameters)
      << "seed " << seed;
  }
}

TEST(split_bits, do_not_depend_on_the_order_of_messages) {
  auto x = cut_job();
  const auto expected = alone(x);
  x.training.replicas = 2;
  for (const auto& [tensor, pipeline] :
       std::vector<std::pair<size_t, size_t>>{{2, 2}, {3, 1}, {1, 3}, {4, 3}})
    for (uint64_t seed = 0; seed < 15; ++seed) {
      x.parallel.tensor = tensor;
      x.parallel.pipeline = pipeline;
      x.parallel.schedule =
        seed % 2 == 0 ? pipeline_schedule::one_forward_one_backward : pipeline_schedule::gpipe;
      company_options options;
      hooks_of(options).keeps_slices_apart = seed % 3 == 0;
      options.shard_count = 1 + seed % 3;
      EXPECT_EQ(test::train_in_order(x, seed, options).parameters, expected.parameters)
        << text_of(x) << ", seed " << seed;
    }
}

// The property can fail: added in order of arrival the sums are others.
TEST(split_bits, are_lost_when_gradients_are_added_as_they_arrive) {
  auto x = cut_job();
  const auto expected = alone(x);
  x.training.replicas = 2;
  x.parallel.tensor = 2;
  x.parallel.pipeline = 2;
  bool differs = false;
  for (uint64_t seed = 0; seed < 15 && !differs; ++seed) {
    company_options options;
    hooks_of(options).add_in_order_of_arrival = hooks_of(options).keeps_slices_apart = true;
    differs = test::train_in_order(x, seed, options).parameters != expected.parameters;
  }
  EXPECT_TRUE(differs);
}

TEST(split_bits, hold_for_whatever_is_trained) {
  struct odd {
    const char* name;
    std::function<void(job&)> change;
  };
  for (const auto& [name, change] : std::vector<odd>{
         {"dropout and gelu",
          [](job& x) { x.model.dropout = 0.3, x.model.activation = activation_kind::gelu; }},
         {"clip_norm", [](job& x) { x.optimizer.clip_norm = 0.1; }},
         {"penalties and clip_value",
          [](job& x) {
            x.optimizer.l1 = 0.01, x.optimizer.l2 = 0.02, x.optimizer.clip_value = 0.05;
          }},
         {"keep_best",
          [](job& x) { x.data.validation_fraction = 0.2, x.training.keep_best = true; }},
         {"batches of a row", [](job& x) { x.training.batch_size = 1; }},
         {"no bias, short batches, odd slices",
          [](job& x) { x.model.bias = false, x.training.batch_size = 47, x.training.slices = 5; }},
         {"lbfgs",
          [](job& x) {
            x.optimizer = {};
            x.optimizer.kind = optimizer_kind::lbfgs;
            x.training.batch_size = 0;
          }},
         {"adam", [](job& x) { x.optimizer.kind = optimizer_kind::adam; }}}) {
    auto x = cut_job();
    change(x);
    const auto expected = alone(x);
    x.training.replicas = 2;
    for (const auto& [tensor, pipeline] :
         std::vector<std::pair<size_t, size_t>>{{2, 2}, {3, 1}, {1, 3}}) {
      x.parallel.tensor = tensor;
      x.parallel.pipeline = pipeline;
      SCOPED_TRACE(name);
      expect_same(x, expected, 2);
    }
  }
}

TEST(split_bits, hold_for_every_loss) {
  for (const auto& [loss, name] : name_table<loss_kind>::entries) {
    auto x = cut_job();
    x.model.loss = loss;
    if (!is_classification(loss)) {
      x.data.synthetic = synthetic_kind::regression;
      x.data.targets = 5;
      if (has_log_link(loss))
        continue; // synthetic targets are below 0: see partition_work_test
    }
    if (is_binary(loss)) {
      x.data.classes = 2;
      x.model.cut.back() = layer_cut::none;
    }
    const auto expected = alone(x);
    x.training.replicas = 2;
    x.parallel.tensor = 2;
    x.parallel.pipeline = 2;
    SCOPED_TRACE(name);
    expect_same(x, expected, 2);
  }
}

TEST(split_bits, a_pipeline_needs_no_cuts) {
  auto x = test::small_job();
  x.model.hidden = {12, 8, 10};
  const auto expected = alone(x);
  for (const auto& stages : std::vector<std::vector<size_t>>{{}, {1, 3}, {3, 1}}) {
    x.parallel.pipeline = 2;
    x.parallel.stages = stages;
    expect_same(x, expected, 2);
  }
}

TEST(split_bits, a_gradient_that_is_no_number_ends_the_run_by_slice) {
  auto x = cut_job();
  x.parallel.tensor = 2;
  x.parallel.pipeline = 2;
  company_options options;
  hooks_of(options).keeps_slices_apart = true;
  hooks_of(options).poisoned_step = 3;
  hooks_of(options).poisoned_slice = 1;
  hooks_of(options).poisoned_element = 20;
  hooks_of(options).poison = std::numeric_limits<float>::quiet_NaN();
  const auto result = test::train_company(2, x, options);
  EXPECT_NE(result.finished.problem.find("slice 1"), std::string::npos) << result.finished.problem;
}

// In the file tensors are whole; what is read from it evaluates to the bits of the run.
TEST(split_bits, a_model_file_is_that_of_any_model_and_evaluates_as_in_the_run) {
  const auto result = test::train_on(2, cut_job());
  const temporary_folder folder;
  const auto path = folder.path("model.safetensors");
  EXPECT_EQ(write_model(path, result), result.summary.parameters_sha256);
  const auto saved = read_model(path);
  predictor reader{saved};
  const auto& rows = result.data->test;
  const auto sums = reader.evaluate(batch_of_rows(rows, 0, rows.row_count));
  EXPECT_EQ(sums.loss_sum / static_cast<double>(rows.row_count), result.summary.test_loss);

  auto uncut = result.resolved;
  uncut.model.cuts = 1;
  uncut.model.cut.clear();
  const auto network = make_model(uncut, shape_of(*result.data));
  const auto logical = read_safetensors(path).values;
  std::vector<float> expected(rows.row_count * 3), found(expected.size());
  workspace memory;
  network->predict(logical, rows.features, expected, memory);
  reader.predict(rows.features, found);
  for (size_t i = 0; i < expected.size(); ++i)
    EXPECT_NEAR(found[i], expected[i], 1e-5) << i;
}

TEST(split_bits, eight_actors_read_digits) {
  job x;
  x.data.file = std::string{TROUPE_SOURCE_DIR} + "/examples/data/digits.csv.gz";
  x.data.test_fraction = 0.25;
  x.data.standardize = true;
  x.model.hidden = {64, 32, 16};
  x.model.cuts = 4;
  x.optimizer.kind = optimizer_kind::adam;
  x.optimizer.learning_rate = 0.01;
  x.training.batch_size = 64;
  x.training.slices = 4;
  x.training.epochs = 10;
  const auto expected = alone(x);
  x.parallel.data = x.parallel.tensor = x.parallel.pipeline = 2;
  const auto result = test::train_on(2, x);
  EXPECT_EQ(test::values_of(result.parameters), expected.parameters);
  EXPECT_EQ(result.summary.samples_by_replica.size(), 8u);
  EXPECT_GE(result.summary.test_accuracy.value_or(0), 0.95);
}

} // namespace
} // namespace troupe::split_bits_test
