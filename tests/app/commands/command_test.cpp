// The program as scripts see it: exit codes, what is printed where, and the files it leaves.

#include "tests/support/model_commands.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <csignal>
#include <cstdlib>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace troupe::command_test {
namespace {

constexpr const char* tiny_job = "[data]\nsynthetic = \"classification\"\nrows = 64\nfeatures = 4\n"
                                 "test_fraction = 0.25\n[training]\nepochs = 2\nreplicas = 1\n";

class command : public test::command_runs {
protected:
  void SetUp() override { folder.write("tiny.toml", tiny_job); }
};

TEST_F(command, training_leaves_a_whole_run_and_prints_one_object) {
  ASSERT_EQ(run("train tiny.toml --json"), 0) << err;
  const auto printed = nlohmann::json::parse(out);
  EXPECT_EQ(printed["job"], "tiny");
  EXPECT_EQ(printed["model_file"], "runs/tiny/model.safetensors");
  EXPECT_EQ(nlohmann::json::parse(folder.read("runs/tiny/summary.json")), printed);
  EXPECT_TRUE(folder.has("runs/tiny/model.safetensors"));
  EXPECT_TRUE(folder.has("runs/tiny/history.csv"));
  EXPECT_FALSE(folder.has("runs/tiny/lock"));
  EXPECT_EQ(run("config check runs/tiny/job.toml"), 0) << err;
  EXPECT_TRUE(out.ends_with(": ok\n"));
}

TEST_F(command, progress_goes_to_standard_error_unless_quiet) {
  ASSERT_EQ(run("train tiny.toml"), 0);
  EXPECT_TRUE(said("Epoch 2/"));
  EXPECT_FALSE(test::contains(out, "Epoch"));
  EXPECT_TRUE(test::contains(out, "\nparameters sha256  "));
  ASSERT_EQ(run("train tiny.toml --quiet --overwrite"), 0);
  EXPECT_EQ(err, "");
}

TEST_F(command, what_was_read_is_said_before_training) {
  ASSERT_EQ(run("train tiny.toml --set optimizer.kind=adam --set optimizer.schedule.kind=cosine"),
            0);
  const auto epoch = err.find("Epoch 1/");
  for (const auto* line :
       {"data      synthetic rows: 64 rows of 4 features; 48 to train on, 16 for testing\n",
        "target    'class': 2 classes ('0' in 32 rows, '1' in 32)\n",
        "model     neural-network 4-2, 10 parameters; categorical-cross-entropy\n",
        "training  4 steps of 32 rows, 2 an epoch; 1 slice, synchronous, 1 replica; adam at 0.01, "
        "cosine\n",
        "memory    about "}) {
    EXPECT_TRUE(said(line)) << line << err;
    EXPECT_LT(err.find(line), epoch);
  }
}

// A second core stays idle then, and people ask why.
TEST_F(command, replicas_that_take_turns_on_one_thread_are_said_to) {
  const std::string two = "train tiny.toml --set training.slices=2 --set training.replicas=2";
  ASSERT_EQ(run(two), 0);
  EXPECT_TRUE(said("2 slices, synchronous, 2 replicas on one thread; "));
  ASSERT_EQ(run(two + " --overwrite --set runtime.threads=2"), 0);
  EXPECT_TRUE(said("2 slices, synchronous, 2 replicas; "));
}

// 600 ages, 70 different ones: nobody asked for a classifier.
TEST_F(command, guesses_about_the_target_are_said_or_asked) {
  std::string ages = "row,x,age\n", stars = ages, kinds = ages;
  for (int i = 0; i < 600; ++i) {
    const auto start = std::to_string(i) + "," + std::to_string(i * 37 % 101) + ",";
    ages += start + std::to_string(18 + i % 70) + "\n";
    stars += start + std::to_string(i % 15) + "\n";
    kinds += start + std::to_string(i % 3) + "\n";
  }
  folder.write("ages.csv", ages);
  folder.write("stars.csv", stars);
  folder.write("kinds.csv", kinds);
  folder.write("a.toml", "[data]\nfile = \"ages.csv\"\n[training]\nepochs = 1\n");
  EXPECT_EQ(run("train a.toml"), 78) << err;
  EXPECT_TRUE(said("a.toml:1:1: 'model.loss': the target 'age' holds whole numbers, 70 different "
                   "ones: amounts to learn, or classes?\n"));
  EXPECT_EQ(run("train a.toml --set model.loss=squared --set data.standardize=true"), 0) << err;
  EXPECT_TRUE(
    said("target    'age': numbers from 18 to 87; learned scaled to mean 0 and deviation 1"));
  EXPECT_TRUE(said("troupe: warning: the features 'row' look like numbers or names of rows"));
  EXPECT_EQ(run("train a.toml --overwrite --set data.file=stars.csv --set data.test_fraction=1e-3"),
            0)
    << err;
  EXPECT_TRUE(said("troupe: warning: model.loss: the target's 15 whole numbers are learned as "
                   "classes"));
  EXPECT_TRUE(said("data.test_fraction: 0.001 of 600 rows is less than one"));
  EXPECT_EQ(run("train a.toml --overwrite --set data.file=kinds.csv"), 0) << err;
  EXPECT_TRUE(
    said("whole numbers, taken for classes: if they are amounts, set model.loss = \"squared\""));
  EXPECT_FALSE(said("warning: model.loss"));
}

TEST_F(command, large_amounts_are_told_before_a_network_diverges) {
  std::string rows = "x,price\n", small = rows;
  for (int i = 0; i < 60; ++i) {
    rows += std::to_string(i) + "," + std::to_string(3000 * i) + ".5\n";
    small += std::to_string(i) + "," + std::to_string(0.03 * i) + "\n";
  }
  folder.write("large.csv", rows);
  folder.write("small.csv", small);
  folder.write("p.toml", "[data]\nfile = \"large.csv\"\nstandardize = true\n[model]\nhidden = [8]\n"
                         "[training]\nepochs = 5\n");
  EXPECT_EQ(run("train p.toml --set data.target_scale=none"), 1) << err;
  EXPECT_TRUE(said("troupe: warning: the target goes up to 177000"));
  EXPECT_TRUE(said("set data.target_scale = \"standardize\""));
  EXPECT_EQ(run("train p.toml --overwrite"), 0) << "as it is by default: " << err;
  EXPECT_FALSE(said("goes up to"));
  EXPECT_EQ(run("train p.toml --overwrite --set data.file=small.csv"), 0) << err;
  EXPECT_FALSE(said("goes up to"));
  EXPECT_EQ(run("train p.toml --overwrite --set data.file=large.csv "
                "--set model.kind=linear-regression --set model.hidden=[]"),
            0)
    << err;
  EXPECT_FALSE(said("goes up to"));
}

TEST_F(command, slices_do_not_count_where_replicas_do_not_march_in_step_and_are_no_error) {
  EXPECT_EQ(run("train tiny.toml --set training.slices=4 --set training.consistency=asynchronous"),
            0)
    << err;
  EXPECT_TRUE(said("training.slices: 4 do not count"));
  EXPECT_EQ(run("train tiny.toml --overwrite --set training.slices=40"), 0) << err;
  EXPECT_TRUE(said("training.slices: of 40 slices 8 have no rows in steps of 32 rows"));
}

TEST_F(command, what_no_machine_has_memory_for_is_refused_with_both_numbers) {
  const std::pair<const char*, const char*> wishes[] = {
    {"model.hidden=[10000000,10000000]", "'model.hidden': a model of 100000080000002 parameters "
                                         "takes about 1.1 PiB of memory "},
    {"data={rows=1000000000, features=1000000}",
     "'data.rows': 1000000000 rows of 1000000 features need"},
    {"training.replicas=100000", "an integer from 1 to 1024, got the integer 100000"},
    {"runtime.threads=100000000000", "an integer from 1 to 1024, got"},
    {"model.hidden=[9223372036854775807]", "an integer from 1 to 10000000, got"},
    {"training.slices=1000000000000", "an integer from 1 to 4096, got"}};
  for (const auto& [wish, answer] : wishes) {
    EXPECT_EQ(run(std::string{"train tiny.toml --json --set data.noise=0 --set '"} + wish + "'"),
              78)
      << err;
    EXPECT_TRUE(said(answer));
    EXPECT_EQ(nlohmann::json::parse(out)["error"]["code"], "bad-job");
  }
}

TEST_F(command, finished_run_is_replaced_only_when_asked_to) {
  ASSERT_EQ(run("train tiny.toml"), 0);
  EXPECT_EQ(run("train tiny.toml --json --set output.directory=runs/tiny"), 73);
  EXPECT_EQ(nlohmann::json::parse(out)["error"]["code"], "cannot-create");
  EXPECT_TRUE(said("--overwrite"));
  EXPECT_EQ(run("train tiny.toml --overwrite"), 0);
}

TEST_F(command, missing_data_keeps_the_earlier_run) {
  ASSERT_EQ(run("train tiny.toml"), 0);
  const auto before = folder.read("runs/tiny/summary.json");
  folder.write("tiny.toml", "data.file = \"nowhere.csv\"\n");
  folder.write("some.csv", "1,2\n");
  EXPECT_EQ(run("train tiny.toml --overwrite"), 66);
  EXPECT_TRUE(
    said("troupe: error: tiny.toml:1:6: 'data.file': nowhere.csv: there is no such file"));
  EXPECT_TRUE(said("check the path"));
  EXPECT_EQ(run("train tiny.toml --overwrite --set data.file=sme.csv"), 66);
  EXPECT_TRUE(said("error: --set data.file=sme.csv: 'data.file': sme.csv: "));
  EXPECT_TRUE(said("did you mean 'some.csv'?"));
  EXPECT_EQ(folder.read("runs/tiny/summary.json"), before);
}

TEST_F(command, diverged_run_keeps_its_files_and_says_so) {
  EXPECT_EQ(run("train tiny.toml --json --quiet --set optimizer.learning_rate=1e38 "
                "--set data.noise=1e30 --set training.epochs=50"),
            1);
  const auto printed = nlohmann::json::parse(out);
  EXPECT_EQ(printed["error"]["code"], "diverged");
  EXPECT_EQ(printed["job"], "tiny");
  EXPECT_TRUE(said("troupe: error: "));
  EXPECT_TRUE(folder.has("runs/tiny/model.safetensors"));
  EXPECT_EQ(nlohmann::json::parse(folder.read("runs/tiny/summary.json")), printed);
}

// Starts a training that would take days, sends `signal` once an epoch is done, and gives the exit
// code.
int exit_code_after(int signal, const temporary_folder& folder) {
  int progress[2];
  EXPECT_EQ(pipe(progress), 0);
  const pid_t child = fork();
  if (child == 0) {
    dup2(progress[1], STDERR_FILENO);
    const int out = open(folder.path("out").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
    dup2(out, STDOUT_FILENO);
    if (chdir(folder.path().c_str()) == 0)
      execl(TROUPE_BINARY_DIR "/bin/troupe", "troupe", "train", "tiny.toml", "--json", "--set",
            "training.epochs=1000000000", nullptr);
    _exit(127);
  }
  close(progress[1]);
  char byte = 0;
  std::string said;
  while (said.find("Epoch") == said.npos && read(progress[0], &byte, 1) == 1)
    said += byte;
  kill(child, signal);
  while (read(progress[0], &byte, 1) == 1) // a full pipe would hold up its writer
    said += byte;
  EXPECT_TRUE(test::contains(said, ": stopping; a second one")) << "the signal is acknowledged";
  close(progress[0]);
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST_F(command, interrupted_run_keeps_what_was_trained) {
  for (const int signal : {SIGINT, SIGTERM}) {
    std::filesystem::remove_all(folder.path("runs"));
    EXPECT_EQ(exit_code_after(signal, folder), 128 + signal);
    const auto printed = nlohmann::json::parse(folder.read("out"));
    EXPECT_EQ(printed["stopped_by"], "interrupt");
    EXPECT_GT(printed["steps"], 0);
    EXPECT_EQ(nlohmann::json::parse(folder.read("runs/tiny/summary.json")), printed);
    EXPECT_TRUE(folder.has("runs/tiny/model.safetensors"));
  }
}

TEST_F(command, result_that_cannot_be_printed_is_an_error_but_loses_no_file) {
  EXPECT_EQ(run("train tiny.toml --quiet >&-"), 74);
  EXPECT_TRUE(said("standard output"));
  EXPECT_TRUE(folder.has("runs/tiny/summary.json"));
  EXPECT_EQ(run("train tiny.toml --quiet --json --overwrite >/dev/full"), 74);
  EXPECT_TRUE(folder.has("runs/tiny/summary.json"));
}

TEST_F(command, wrong_jobs_end_with_78_and_every_error) {
  folder.write("bad.toml", "[data]\nrow = 3\n[optimizer]\nlearning_rate = -1\n");
  EXPECT_EQ(run("config check bad.toml"), 78);
  EXPECT_EQ(out, "");
  EXPECT_TRUE(said("troupe: error: bad.toml:2:1: unknown key 'data.row'\n"
                   "  hint: did you mean 'data.rows'?\n"));
  EXPECT_TRUE(said("troupe: error: bad.toml:4:1: "));
  EXPECT_EQ(run("train bad.toml --json"), 78);
  EXPECT_EQ(nlohmann::json::parse(out)["error"]["where"], "bad.toml:2:1");
  EXPECT_EQ(run("config check none.toml"), 66);
}

TEST_F(command, problem_that_the_data_show_is_told_where_its_key_was_set) {
  folder.write("three.csv", "1,a\n2,b\n3,c\n4,a\n");
  folder.write("three.toml", "[data]\nfile = \"three.csv\"\n[model]\n  loss = \"hinge\"\n");
  EXPECT_EQ(run("train three.toml --json"), 78) << err;
  const std::string why =
    "'model.loss': hinge needs exactly two classes, the data has 3: 'a' 2, 'b' 1, 'c' 1";
  EXPECT_TRUE(said("troupe: error: three.toml:4:3: " + why + "\n  hint: "));
  const auto error = nlohmann::json::parse(out)["error"];
  EXPECT_EQ(error["where"], "three.toml:4:3");
  EXPECT_EQ(error["what"], why);
  EXPECT_EQ(run("train three.toml --set model.loss=squared-hinge"), 78);
  EXPECT_TRUE(said("error: --set model.loss=squared-hinge: 'model.loss': "));
  folder.write("default.toml", "[data]\nfile = \"three.csv\"\n[model]\n"
                               "kind = \"logistic-regression\"\n");
  EXPECT_EQ(run("train default.toml"), 78);
  EXPECT_TRUE(said("error: default.toml:3:2: 'model.loss': ")) << "the nearest section";
}

TEST_F(command, environment_and_set_reach_the_job) {
  ASSERT_EQ(run("config show tiny.toml --set training.epochs=9", "TROUPE_TRAINING__STEPS=8"), 0);
  EXPECT_TRUE(test::contains(out, "\nepochs = 9\nsteps = 8\n"));
  // One value each: the file after --set is still the file.
  EXPECT_EQ(run("config show --set training.epochs=9 tiny.toml"), 0) << err;
}

TEST_F(command, show_prints_the_constants_the_optimizer_works_with) {
  ASSERT_EQ(run("config show tiny.toml --set optimizer.kind=adadelta --set optimizer.rho=0.5"), 0);
  EXPECT_TRUE(test::contains(out, "\nlearning_rate = 1.0\n"));
  EXPECT_TRUE(test::contains(out, "\nrho = 0.5\n"));
  EXPECT_TRUE(test::contains(out, "\nepsilon = 1e-06\n"));
  EXPECT_FALSE(test::contains(out, "\nbeta1 = ")) << "no constant of this rule";
  EXPECT_EQ(run("config show tiny.toml --set optimizer.weight_decay=0.1"), 78);
  EXPECT_TRUE(said("optimizer.l2"));
}

TEST_F(command, help_is_a_result_and_shows_an_example) {
  for (const auto* arguments :
       {"--help", "train --help", "config --help", "config check --help", "config show --help",
        "version --help", "node --help", "launch --help", "evaluate --help", "predict --help",
        "config keys --help", "inspect --help", "compare --help", "doctor --help"}) {
    EXPECT_EQ(run(arguments), 0) << arguments;
    EXPECT_TRUE(test::contains(out, "Example:\n  troupe ")) << arguments;
    EXPECT_FALSE(test::contains(out, "--inherited")) << "a hidden option: " << arguments;
  }
}

TEST_F(command, history_grows_while_training_lasts) {
  folder.write("tiny.toml", std::string{tiny_job} + "[checkpoint]\nevery_steps = 2\n");
  ASSERT_EQ(run("train tiny.toml --quiet"), 0) << err;
  const auto whole = folder.read("runs/tiny/history.csv");
  EXPECT_EQ(std::ranges::count(whole, '\n'), 3);
  ASSERT_EQ(run("train tiny.toml --quiet --resume --set training.epochs=3"), 0) << err;
  EXPECT_TRUE(folder.read("runs/tiny/history.csv").starts_with(whole));
  EXPECT_EQ(std::ranges::count(folder.read("runs/tiny/history.csv"), '\n'), 4);
}

// The rows that a run kept aside give its own figures once more.
TEST_F(command, a_run_is_judged_by_the_rows_it_kept) {
  ASSERT_EQ(run("train tiny.toml --json --quiet --set data.standardize=true"), 0) << err;
  const auto trained = nlohmann::json::parse(out);
  for (const std::string model : {"runs/tiny", "runs/tiny/model.safetensors"}) {
    ASSERT_EQ(run("evaluate --json " + model), 0) << err;
    const auto judged = nlohmann::json::parse(out);
    EXPECT_EQ(judged["rows"], 16);
    EXPECT_EQ(judged["part"], "test");
    EXPECT_EQ(judged["loss"], trained["test_loss"]);
    EXPECT_EQ(judged["accuracy"], trained["test_accuracy"]);
  }
  ASSERT_EQ(run("evaluate runs/tiny --rows train --json"), 0) << err;
  EXPECT_EQ(nlohmann::json::parse(out)["rows"], 48);
  EXPECT_EQ(run("evaluate runs/tiny --rows validation"), 2);
  EXPECT_TRUE(said("kept no rows for validation"));
  EXPECT_EQ(run("evaluate runs/tiny --rows some"), 2);
  EXPECT_EQ(run("evaluate runs/tiny --target 3"), 2);
  EXPECT_EQ(run("evaluate runs/tiny some.csv --rows test"), 2);
  EXPECT_EQ(run("evaluate runs/tiny/model.safetensors none.csv"), 66);
  folder.write("runs/tiny/identity.txt", "data.fingerprint = other\n");
  EXPECT_EQ(run("evaluate runs/tiny"), 76);
  std::filesystem::copy(folder.path("runs/tiny/model.safetensors"), folder.path("alone"));
  EXPECT_EQ(run("evaluate alone"), 2);
  EXPECT_TRUE(said("there is no run"));
}

TEST_F(command, version_names_what_results_depend_on) {
  ASSERT_EQ(run("version --json"), 0);
  const auto object = nlohmann::json::parse(out);
  for (const auto* key : {"troupe", "caf"})
    EXPECT_FALSE(object.at(key).get<std::string>().empty()) << key;
  EXPECT_EQ(object.at("arithmetic"), "1");
  EXPECT_EQ(object.at("instructions").back(), "portable");
  ASSERT_EQ(run("--version"), 0);
  EXPECT_TRUE(out.starts_with("troupe ")) << out;
}

TEST_F(command, instructions_that_are_not_here_are_refused_and_none_shows_in_the_bits) {
  ASSERT_EQ(run("train tiny.toml --json --set runtime.instructions=portable"), 0) << err;
  const auto hash = nlohmann::json::parse(out).at("parameters_sha256");
  ASSERT_EQ(run("train tiny.toml --json --overwrite"), 0) << err;
  EXPECT_EQ(nlohmann::json::parse(out).at("parameters_sha256"), hash);
#if defined(__x86_64__)
  EXPECT_EQ(run("train tiny.toml --overwrite --set runtime.instructions=neon"), 76);
  EXPECT_TRUE(said("has no neon"));
#endif
  EXPECT_EQ(run("train tiny.toml --overwrite --set runtime.instructions=avx3"), 78);
  EXPECT_EQ(run("train tiny.toml --overwrite --set runtime.numerics=x86-64-v3"), 78);
  EXPECT_TRUE(said("every processor gives the same bits"));
}

} // namespace
} // namespace troupe::command_test
