// --resume and --overwrite, as scripts see them: what is refused, what is continued, what is said.

#include "actors/run/job_data.hpp"
#include "app/run/run_start.hpp"
#include "data/checkpoint/checkpoint_store.hpp"
#include "data/text/checksum.hpp"
#include "data/text/failure.hpp"
#include "models/base/arithmetic.hpp"
#include "tests/support/contains.hpp"
#include "tests/support/failure_of.hpp"
#include "tests/support/model_commands.hpp"
#include "tests/support/some_checkpoint.hpp"
#include "tests/support/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include <sys/wait.h>

#include <span>

namespace troupe::resume_test {
namespace {

// Sixteen rows for testing and 48 for training make two steps an epoch, four in all.
constexpr const char* tiny_job = "[data]\nsynthetic = \"classification\"\nrows = 64\nfeatures = 4\n"
                                 "test_fraction = 0.25\n[training]\nepochs = 2\nreplicas = 1\n";

class resume : public test::command_runs {
protected:
  void SetUp() override { folder.write("tiny.toml", tiny_job); }

  int train(const std::string& arguments = "") {
    return run("train tiny.toml --json " + arguments);
  }

  nlohmann::json printed() const { return nlohmann::json::parse(out); }
  testing::AssertionResult hints(const std::string& part) const {
    return test::contains(printed()["error"]["hint"].get<std::string>(), part);
  }

  // What a run that was killed leaves: no summary, and the model of before if there was one.
  void kill_run() { std::filesystem::remove(folder.path("runs/tiny/summary.json")); }

  checkpoint_store store(const std::string& where = "runs/tiny") {
    std::filesystem::create_directories(folder.path(where));
    return {posix_disk(), folder.path(where)};
  }

  // A checkpoint with the right names; its tensors are those of the initial parameters' job.
  checkpoint checkpoint_at(uint64_t version, const std::string& job_sha256) {
    some_checkpoint_options options{10, 0, false, job_sha256};
    auto x = plain_checkpoint(version, options);
    x.arithmetic = arithmetic_name;
    return x;
  }
};

TEST_F(resume, an_earlier_run_is_refused_with_both_ways_out) {
  ASSERT_EQ(train(), 0) << err;
  for (const bool finished : {true, false}) {
    if (!finished)
      kill_run();
    EXPECT_EQ(train(finished ? "--set output.directory=runs/tiny" : ""), 73);
    EXPECT_TRUE(hints("--resume") && hints("--overwrite"));
  }
  EXPECT_EQ(train("--resume --overwrite"), 2) << "one of them";
  EXPECT_EQ(train("--overwrite"), 0) << err;
}

TEST_F(resume, a_finished_run_in_a_folder_that_nobody_named_stays_and_the_next_goes_beside_it) {
  for (const std::string name : {"tiny", "tiny-2", "tiny-3"}) {
    ASSERT_EQ(train(), 0) << err;
    EXPECT_EQ(printed()["model_file"], "runs/" + name + "/model.safetensors");
    EXPECT_EQ(said("runs/tiny has a finished run: this one is written to runs/" + name + " ("),
              name != "tiny");
  }
  EXPECT_EQ(train("--overwrite"), 0) << err;
  EXPECT_EQ(printed()["model_file"], "runs/tiny/model.safetensors");
  EXPECT_EQ(train("--resume"), 0) << err;
  EXPECT_FALSE(folder.has("runs/tiny-4"));
}

TEST_F(resume, a_run_that_was_stopped_and_can_go_on_is_in_the_way) {
  ASSERT_EQ(train("--set checkpoint.every_steps=1"), 0) << err;
  auto summary = nlohmann::json::parse(folder.read("runs/tiny/summary.json"));
  summary["stopped_by"] = "interrupt";
  folder.write("runs/tiny/summary.json", summary.dump());
  EXPECT_EQ(train(), 73);
  EXPECT_TRUE(hints("--resume"));
}

TEST_F(resume, a_run_beside_a_finished_one_is_gone_on_with) {
  for (int i = 0; i < 3; ++i)
    ASSERT_EQ(train("--set checkpoint.every_steps=1"), 0) << err;
  const auto whole = folder.read("runs/tiny-2/model.safetensors");
  for (const auto* name : {"summary.json", "model.safetensors", "checkpoint-000000000004.troupe"})
    ASSERT_TRUE(std::filesystem::remove(folder.path("runs/tiny-2/" + std::string{name})));
  EXPECT_EQ(train("--resume"), 0) << err;
  EXPECT_TRUE(said("runs/tiny has a finished run: this one is gone on with in runs/tiny-2\n"));
  EXPECT_TRUE(said("training goes on from step 3"));
  EXPECT_EQ(folder.read("runs/tiny-2/model.safetensors"), whole);
  EXPECT_EQ(train("--resume"), 0) << err;
  EXPECT_TRUE(said("runs/tiny: the run is finished"));
}

TEST_F(resume, checkpoints_alone_are_a_run_too) {
  store().write(checkpoint_at(1, "some"));
  EXPECT_EQ(train(), 73);
  EXPECT_TRUE(hints("--resume"));
  store("elsewhere").write(checkpoint_at(1, "some"));
  EXPECT_EQ(train("--set checkpoint.directory=elsewhere --set output.directory=new"), 73);
  EXPECT_TRUE(hints("--overwrite"));
  EXPECT_FALSE(folder.has("new/job.toml"));
}

// Who carries which parts of a model is no part of the job: each takes up what another left.
TEST_F(resume, a_model_that_is_split_goes_on_under_any_other_split) {
  const std::string job = "--quiet --set model.hidden=[8,6] --set model.cuts=4 --set "
                          "checkpoint.every_steps=1 --set checkpoint.keep=9 ";
  const std::vector<std::string> splits{
    "", "--set parallel.tensor=4", "--set parallel.pipeline=2",
    "--set parallel.tensor=2 --set parallel.pipeline=2 --set training.replicas=2",
    "--set parallel.sharded=true --set training.replicas=2"};
  ASSERT_EQ(train("--overwrite " + job), 0) << err;
  const auto expected = printed()["parameters_sha256"];
  for (const auto& before : splits)
    for (const auto& after : splits) {
      ASSERT_EQ(train("--overwrite " + job + before), 0) << err;
      kill_run();
      for (const auto version : {3, 4})
        ASSERT_TRUE(std::filesystem::remove(
          folder.path("runs/tiny/checkpoint-00000000000" + std::to_string(version) + ".troupe")));
      ASSERT_EQ(train("--resume " + job + after), 0) << before << after << err;
      EXPECT_EQ(printed()["parameters_sha256"], expected) << before << after;
    }
}

TEST_F(resume, without_a_run_training_starts_from_the_beginning_and_says_so) {
  EXPECT_EQ(train("--resume"), 0);
  EXPECT_TRUE(said("runs/tiny: there is no run to resume: training starts from the beginning\n"));
  kill_run();
  std::filesystem::remove(folder.path("runs/tiny/model.safetensors"));
  EXPECT_EQ(train("--resume"), 0);
  EXPECT_TRUE(said("runs/tiny: there is no checkpoint: training starts from the beginning\n"));
}

TEST_F(resume, a_finished_run_stays_and_its_summary_is_printed) {
  ASSERT_EQ(train(), 0);
  const auto first = printed();
  const auto model = std::filesystem::last_write_time(folder.path("runs/tiny/model.safetensors"));
  ASSERT_EQ(train("--resume"), 0) << err;
  EXPECT_EQ(printed(), first);
  EXPECT_TRUE(said("the run is finished (step 4, stopped by epochs): there is nothing to resume"));
  EXPECT_EQ(std::filesystem::last_write_time(folder.path("runs/tiny/model.safetensors")), model);
  EXPECT_EQ(train("--resume --set training.epochs=1"), 0);
  EXPECT_EQ(printed()["epochs"], 2) << "a shorter run is contained in it";
}

TEST_F(resume, a_finished_run_whose_best_version_is_an_earlier_one_stays_too) {
  // Too fast: the first epoch's version stays the best.
  const std::string options = "--set optimizer.learning_rate=50 --set training.keep_best=true "
                              "--set data.noise=1 ";
  ASSERT_EQ(train(options), 0) << err;
  const auto first = printed();
  ASSERT_EQ(first["best_version"], 2) << "else this test shows nothing";
  ASSERT_EQ(train("--resume " + options), 0) << err;
  EXPECT_EQ(printed(), first);
  EXPECT_TRUE(said("there is nothing to resume"));
}

TEST_F(resume, a_model_without_a_checkpoint_is_never_lost_to_a_new_beginning) {
  ASSERT_EQ(train(), 0) << err;
  const auto model = folder.read("runs/tiny/model.safetensors");
  for (const bool finished : {true, false}) {
    if (!finished)
      kill_run();
    EXPECT_EQ(train("--resume --set training.epochs=3"), 73);
    EXPECT_TRUE(hints("--overwrite") && hints("checkpoint.every_steps"));
    EXPECT_EQ(folder.has("runs/tiny/summary.json"), finished);
    EXPECT_EQ(folder.read("runs/tiny/model.safetensors"), model);
  }
}

// As a supervisor restarts a director that was stopped as it began.
TEST_F(resume, a_run_that_was_stopped_before_its_first_step_begins_anew) {
  ASSERT_EQ(train(), 0) << err;
  const auto model = printed()["parameters_sha256"];
  auto summary = nlohmann::json::parse(folder.read("runs/tiny/summary.json"));
  summary["stopped_by"] = "interrupt";
  for (const int steps : {2, 0}) {
    summary["steps"] = steps;
    folder.write("runs/tiny/summary.json", summary.dump());
    EXPECT_EQ(train("--resume"), steps > 0 ? 73 : 0) << err;
  }
  EXPECT_TRUE(said("training starts from the beginning"));
  EXPECT_EQ(printed()["parameters_sha256"], model);
}

TEST_F(resume, a_finished_run_goes_on_when_it_is_made_longer) {
  ASSERT_EQ(train("--overwrite --set training.epochs=3"), 0);
  const auto straight = printed()["parameters_sha256"];
  ASSERT_EQ(train("--overwrite --set checkpoint.every_steps=1"), 0);
  ASSERT_EQ(train("--resume --set training.epochs=3"), 0) << err;
  EXPECT_EQ(printed()["epochs"], 3);
  EXPECT_EQ(printed()["parameters_sha256"], straight);
}

TEST_F(resume, a_run_that_diverged_would_do_so_again) {
  const std::string options = "--set optimizer.learning_rate=1e38 --set data.noise=1e30 ";
  ASSERT_EQ(train(options + "--set training.epochs=50"), 1);
  EXPECT_EQ(train("--resume " + options + "--set training.epochs=60"), 1);
  EXPECT_TRUE(said("and would do so again"));
}

TEST_F(resume, another_job_is_refused_and_told_what_differs) {
  ASSERT_EQ(train(), 0);
  EXPECT_EQ(train("--resume --set optimizer.learning_rate=0.5"), 73);
  EXPECT_EQ(printed()["error"]["what"],
            "the run directory holds another job, which differs in optimizer.learning_rate");
  EXPECT_TRUE(hints("--overwrite") && hints("--resume"));
}

TEST_F(resume, damaged_checkpoints_are_named_and_never_a_silent_new_beginning) {
  ASSERT_EQ(train(), 0);
  const std::string job_sha256 = printed()["job_sha256"];
  kill_run();
  auto checkpoints = store();
  checkpoints.write(checkpoint_at(2, job_sha256));
  const auto name = "runs/tiny/checkpoint-000000000002.troupe";
  auto bytes = folder.read(name);
  bytes[bytes.size() / 2] ^= 1;
  folder.write(name, bytes);
  EXPECT_EQ(train("--resume"), 65);
  EXPECT_TRUE(said(name));
  EXPECT_EQ(train("--overwrite"), 0) << err;
  EXPECT_FALSE(folder.has(name));
}

TEST_F(resume, a_checkpoint_beyond_the_end_or_of_another_arithmetic_is_refused) {
  ASSERT_EQ(train(), 0);
  const std::string job_sha256 = printed()["job_sha256"];
  kill_run();
  auto checkpoints = store();
  checkpoints.write(checkpoint_at(5, job_sha256));
  EXPECT_EQ(train("--resume"), 78);
  EXPECT_TRUE(said("the checkpoint is at step 5, but training ends at step 4"));
  auto foreign = checkpoint_at(6, job_sha256);
  foreign.arithmetic = "another machine's";
  checkpoints.write(foreign);
  EXPECT_EQ(train("--resume --set training.epochs=9"), 76);
  EXPECT_TRUE(said("another machine's"));
}

TEST_F(resume, overwriting_removes_the_checkpoints_wherever_they_are) {
  store("elsewhere").write(checkpoint_at(1, "some"));
  ASSERT_EQ(train("--overwrite --set checkpoint.directory=elsewhere"), 0) << err;
  EXPECT_TRUE(store("elsewhere").versions().empty());
  EXPECT_FALSE(folder.has("elsewhere/lock"));
}

TEST_F(resume, the_output_directory_under_another_name_is_one_folder) {
  EXPECT_EQ(train("--set checkpoint.directory=runs/../runs/tiny/."), 0) << err;
}

TEST_F(resume, a_checkpoint_folder_that_cannot_be_made_is_refused_before_training) {
  folder.write("file", "");
  EXPECT_EQ(train("--set checkpoint.every_steps=1 --set checkpoint.directory=file/inner"), 73);
  EXPECT_TRUE(said("checkpoint.directory"));
  EXPECT_FALSE(folder.has("runs/tiny/job.toml"));
}

// Where a training begins: from which checkpoint, and when a finished run goes on (lengths and stop
// rules are no part of the job).

TEST(run_start, a_finished_run_goes_on_only_when_something_can_come_of_it) {
  struct row {
    const char* stopped_by;
    bool same_rules;
    uint64_t last_version; ///< the run ended at 100
    bool goes_on;
  };
  const row table[] = {
    {"epochs", true, 100, false},      {"epochs", true, 101, true},
    {"epochs", true, 50, false},       {"steps", true, 101, true},
    {"steps", false, 100, false},      {"interrupt", true, 200, true},
    {"interrupt", true, 100, false},   {"patience", true, 200, false},
    {"patience", false, 200, true},    {"patience", false, 100, false},
    {"rule", true, 200, false},        {"rule", false, 200, true},
    {"target-loss", true, 200, false}, {"target-loss", false, 200, true},
  };
  for (const auto& [stopped_by, same_rules, last_version, goes_on] : table)
    EXPECT_EQ(can_go_on({100, stopped_by, same_rules}, last_version), goes_on)
      << stopped_by << " " << same_rules << " " << last_version;
  for (const auto* stopped_by : {"epochs", "patience"}) {
    EXPECT_TRUE(can_go_on({100, stopped_by, true, true}, 100)) << "to its last version";
    EXPECT_FALSE(can_go_on({100, stopped_by, true, true}, 99));
  }
}

class run_start_of : public testing::Test {
protected:
  run_start_of() {
    x.name = "some";
    x.data.synthetic = synthetic_kind::classification;
    x.data.rows = 64;
    x.output.directory = folder.path("run");
    data = load_data(x);
    const auto text = identity(); // claims the folder for a moment
    run_folders{x, earlier_run::replace}.begin("", text);
  }

  run_start find() {
    warnings.clear();
    return find_start(x, *data, run_folders{x, earlier_run::resume},
                      [this](const std::string& line) { warnings += line; });
  }

  std::string identity() {
    return find_start(x, *data, run_folders{x, earlier_run::replace}, {}).identity;
  }

  checkpoint checkpoint_at(uint64_t version) {
    const auto text = identity();
    const auto shape = shape_of(*data);
    const auto size = make_model(resolve(x, shape, 1), shape)->layout().size();
    auto result = plain_checkpoint(version, {size, 0, true, "a1"});
    result.job_sha256 = sha256_hex(std::as_bytes(std::span{text}));
    result.arithmetic = arithmetic_name;
    return result;
  }

  void damage(const std::string& name) {
    auto bytes = folder.read(name);
    bytes.resize(bytes.size() - 1);
    folder.write(name, bytes);
  }

  temporary_folder folder;
  job x;
  std::shared_ptr<const prepared_data> data;
  std::string warnings;
};

TEST_F(run_start_of, a_resumed_run_is_its_newest_whole_checkpoint) {
  checkpoint_store store{posix_disk(), x.output.directory};
  store.write(checkpoint_at(3));
  store.write(checkpoint_at(5));
  auto start = find();
  EXPECT_TRUE(same(*start.resume_from, checkpoint_at(5)));
  EXPECT_EQ(start.note, store.path_of(5) + ": training goes on from step 5\n");
  EXPECT_EQ(warnings, "");
  damage("run/checkpoint-000000000005.troupe");
  start = find();
  EXPECT_TRUE(same(*start.resume_from, checkpoint_at(3)));
  EXPECT_EQ(start.note, store.path_of(3) + ": training goes on from step 3\n");
  EXPECT_TRUE(warnings.starts_with("troupe: warning: " + store.path_of(5) + ": not used: "))
    << warnings;
}

TEST_F(run_start_of, a_checkpoint_of_another_shape_is_skipped_for_the_one_before) {
  checkpoint_store store{posix_disk(), x.output.directory};
  store.write(checkpoint_at(3));
  auto odd = checkpoint_at(5);
  odd.optimizer_numbers.resize(200'000);
  store.write(odd);
  EXPECT_EQ(find().resume_from->version, 3u);
  EXPECT_EQ(warnings, "troupe: warning: " + store.path_of(5) +
                        ": not used: it is of another shape: it has 200000 optimizer numbers, the "
                        "job has 0\n");
}

TEST_F(run_start_of, checkpoints_of_another_shape_alone_are_bad_data) {
  auto odd = checkpoint_at(5);
  odd.slots.push_back(odd.parameters);
  checkpoint_store{posix_disk(), x.output.directory}.write(odd);
  const auto error = test::failure_of([&] { find(); });
  EXPECT_EQ(error.code(), failure_code::bad_data);
  EXPECT_TRUE(test::contains(error.reason(), "it has 1 optimizer slots, the job has 0"));
}

TEST_F(run_start_of, what_was_not_used_is_said_even_when_the_rest_is_refused) {
  checkpoint_store store{posix_disk(), x.output.directory};
  store.write(checkpoint_at(1000));
  store.write(checkpoint_at(1001));
  damage("run/checkpoint-000000001001.troupe");
  EXPECT_THROW(find(), failure) << "beyond the end of training";
  EXPECT_TRUE(test::contains(warnings, "1001"));
}

TEST_F(run_start_of, checkpoints_elsewhere_outlive_the_output_directory) {
  x.checkpoint.directory = folder.path("safe");
  std::filesystem::create_directory(x.checkpoint.directory);
  checkpoint_store{posix_disk(), x.checkpoint.directory}.write(checkpoint_at(3));
  std::filesystem::remove_all(x.output.directory);
  EXPECT_EQ(find().resume_from->version, 3u);
}

TEST_F(run_start_of, a_job_that_does_not_fit_its_data_is_refused_before_anything_is_replaced) {
  x.model.loss = loss_kind::squared;
  x.model.kind = model_kind::linear_regression;
  const auto error = test::failure_of([&] { find(); });
  EXPECT_EQ(error.code(), failure_code::bad_job);
}

} // namespace
} // namespace troupe::resume_test
