// A director that has a folder holds no whole model: the best version, the result and the model file are
// what they would be in memory, and nothing is left in the folder.

#include "actors/run/model_writer.hpp"
#include "data/checkpoint/checkpoint_store.hpp"
#include "data/model_file/safetensors.hpp"
#include "tests/support/networked.hpp"
#include "tests/support/temporary_folder.hpp"

#include <gtest/gtest.h>

namespace troupe::model_in_files_test {

namespace {

using test::bringing;
using test::plan_of;
using test::values_of;

/// Three blocks of parameters in working order; it gets worse again after its best version.
job cut_job() {
  auto x = test::small_job();
  x.model.hidden = {600, 8};
  x.model.cuts = 2;
  x.data.validation_fraction = 0.2;
  x.optimizer.learning_rate = 0.5;
  x.training.epochs = 6;
  x.training.keep_best = true;
  return x;
}

struct outcome {
  training_result result;
  std::vector<float> parameters;
  std::string file;
};

/// Two processes with a span each; the director's has these options.
outcome train_in_two(const job& x, const std::function<void(networked_options&)>& change,
                     const std::string& model_file) {
  test::test_cluster cluster{x, plan_of({bringing(1, 1), bringing(1, 1)})};
  auto options = cluster.options_of(0);
  change(options);
  outcome found;
  options.keep = [&](training_result& result) { found.file = write_model(model_file, result); };
  cluster.start(0, options);
  cluster.start(1);
  found.result = *cluster[0].end().training;
  EXPECT_EQ(cluster[1].end().reason, "finished");
  return found;
}

} // namespace

TEST(model_in_files, result_and_model_file_are_those_of_memory_and_nothing_is_left) {
  const temporary_folder folder, scratch;
  for (const bool keeps_best : {true, false}) {
    auto x = cut_job();
    x.training.keep_best = keeps_best;
    const auto alone = test::train_on(2, x);
    write_model(folder.path("alone"), alone);
    const auto in_memory = train_in_two(
      x, [](networked_options&) {}, folder.path("memory"));
    EXPECT_TRUE(in_memory.result.parameters.is_in_memory());
    const auto in_files = train_in_two(
      x, [&](networked_options& options) { options.scratch_folder = scratch.path(); },
      folder.path("files"));
    EXPECT_FALSE(in_files.result.parameters.is_in_memory());
    EXPECT_EQ(in_files.result.summary.best_version, alone.summary.best_version);
    for (const auto* one : {&in_memory, &in_files}) {
      EXPECT_EQ(one->file, alone.summary.parameters_sha256);
      EXPECT_EQ(one->result.summary.parameters_sha256, alone.summary.parameters_sha256);
      EXPECT_EQ(values_of(one->result.parameters), values_of(alone.parameters));
    }
    EXPECT_EQ(read_safetensors(folder.path("files")).values,
              read_safetensors(folder.path("alone")).values);
    EXPECT_TRUE(posix_disk()->list(scratch.path()).empty());
  }
}

TEST(model_in_files, what_goes_on_from_a_checkpoint_takes_its_best_version_from_it) {
  const temporary_folder folder, models;
  auto x = cut_job();
  const auto alone = test::train_on(2, x);
  ASSERT_TRUE(alone.summary.best_version);
  ASSERT_LT(*alone.summary.best_version, 20u) << "else nothing of it comes from the checkpoint";
  x.checkpoint.every_steps = 4;
  const auto store = std::make_shared<checkpoint_store>(posix_disk(), folder.path(), 100);
  const auto whole = train_in_two(
    x, [&](networked_options& options) { options.checkpoints = store; }, models.path("whole"));
  EXPECT_EQ(whole.file, alone.summary.parameters_sha256);
  const auto versions = store->versions();
  ASSERT_GE(versions.size(), 5u);
  const auto resumed = train_in_two(
    x,
    [&](networked_options& options) {
      options.resume_from = store->open(20).contents();
      EXPECT_FALSE(options.resume_from->parameters.is_in_memory());
    },
    models.path("resumed"));
  EXPECT_EQ(resumed.file, alone.summary.parameters_sha256);
  EXPECT_EQ(store->versions(), versions);
}

} // namespace troupe::model_in_files_test
