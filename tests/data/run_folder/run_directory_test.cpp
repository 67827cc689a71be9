#include "data/run_folder/run_directory.hpp"

#include "data/records/run_recorder.hpp"
#include "data/text/failure.hpp"
#include "tests/support/contains.hpp"
#include "tests/support/failure_of.hpp"
#include "tests/support/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <thread>
#include <vector>

namespace troupe::run_directory_test {
namespace {

// The reason why a run directory was refused; empty when it was not.
std::string refusal_of(const std::string& path, earlier_run treatment = earlier_run::refuse) {
  const auto error = test::failure_of([&] { run_directory{path, treatment}; }, "");
  if (!error.reason().empty()) {
    EXPECT_EQ(error.code(), failure_code::cannot_create);
    EXPECT_EQ(error.where(), path);
  }
  return error.reason();
}

std::vector<std::string> names_in(const std::string& path) {
  std::vector<std::string> result;
  for (const auto& entry : std::filesystem::directory_iterator{path})
    result.push_back(entry.path().filename().string());
  std::sort(result.begin(), result.end());
  return result;
}

TEST(run_directory, folders_are_made_with_their_parents) {
  temporary_folder folder;
  run_directory run{folder.path("a/b/c"), earlier_run::refuse};
  EXPECT_EQ(names_in(folder.path("a/b/c")), std::vector<std::string>{"lock"});
  EXPECT_EQ(folder.read("a/b/c/lock"), std::to_string(getpid()) + "\n");
  EXPECT_EQ(run.file("x"), folder.path("a/b/c/x"));
}

TEST(run_directory, nothing_is_left_when_it_did_not_begin) {
  temporary_folder folder;
  for (const char* name : {"kept", "empty"})
    std::filesystem::create_directory(folder.path(name));
  folder.write("kept/file", "");
  for (const char* name : {"run", "a/b/c/", "kept/a/run", "empty"})
    EXPECT_EQ(refusal_of(folder.path(name)), "") << name;
  EXPECT_EQ(names_in(folder.path("")), (std::vector<std::string>{"empty", "kept"}))
    << "folders that were there stay, those that were made go";
  EXPECT_EQ(names_in(folder.path("kept")), std::vector<std::string>{"file"});
}

TEST(run_directory, a_run_that_trained_nothing_is_in_nobodys_way) {
  temporary_folder folder;
  {
    run_directory run{folder.path("run"), earlier_run::refuse};
    run.begin("job", "identity");
    run.take_back();
  }
  EXPECT_FALSE(folder.has("run"));
  {
    run_directory run{folder.path("run"), earlier_run::resume};
    run.begin("job", "identity");
    run.take_back();
  }
  EXPECT_TRUE(folder.has("run/identity.txt")) << "what was to go on stays";
}

TEST(run_directory, a_file_is_no_run_directory) {
  temporary_folder folder;
  EXPECT_EQ(refusal_of(folder.write("run", "")), "the run directory is a file");
  EXPECT_EQ(refusal_of(folder.path("run/inner")).substr(0, 31), "cannot create the run directory");
}

TEST(run_directory, folder_without_write_permission_is_refused_before_training) {
  temporary_folder folder;
  const auto path = folder.path("run");
  std::filesystem::create_directory(path);
  std::filesystem::permissions(path, std::filesystem::perms::owner_read |
                                       std::filesystem::perms::owner_exec);
  if (access(path.c_str(), W_OK) == 0)
    GTEST_SKIP() << "this user may write everywhere";
  EXPECT_EQ(refusal_of(path).substr(0, 36), "cannot write to the run directory: P");
}

TEST(run_directory, a_name_that_is_too_long_is_no_matter_of_permissions) {
  temporary_folder folder;
  const auto error = test::failure_of([&] {
    run_directory{folder.path(std::string(300, 'x')), earlier_run::refuse};
  });
  EXPECT_EQ(error.code(), failure_code::cannot_create);
  EXPECT_EQ(error.hint(), "set output.directory to a shorter path");
}

TEST(run_directory, second_user_of_a_folder_is_refused_and_told_the_first) {
  temporary_folder folder;
  const auto path = folder.path("run");
  std::optional<run_directory> first{std::in_place, path, earlier_run::refuse};
  EXPECT_EQ(refusal_of(path, earlier_run::replace),
            "the run directory is in use by process " + std::to_string(getpid()));
  EXPECT_TRUE(folder.has("run/lock")) << "a refusal must not break the other's lock";
  first.reset();
  EXPECT_EQ(refusal_of(path, earlier_run::replace), "");
}

TEST(run_directory, lock_of_a_process_that_died_does_not_count) {
  temporary_folder folder;
  const auto path = folder.path("run");
  const pid_t child = fork();
  if (child == 0) {
    run_directory run{path, earlier_run::refuse};
    _exit(0); // no destructor runs: the lock file stays
  }
  waitpid(child, nullptr, 0);
  ASSERT_TRUE(folder.has("run/lock"));
  EXPECT_EQ(refusal_of(path), "");
}

TEST(run_directory, earlier_runs_are_kept_unless_told_otherwise) {
  for (const std::string name : {"summary.json", "model.safetensors"}) {
    temporary_folder folder;
    folder.write(name, "old");
    EXPECT_EQ(refusal_of(folder.path()), "the run directory holds a finished run (" + name + ")");
    EXPECT_EQ(names_in(folder.path()), std::vector<std::string>{name});
    EXPECT_EQ(refusal_of(folder.path(), earlier_run::replace), "");
    EXPECT_EQ(folder.read(name), "old") << "nothing changes before the run begins";
  }
  for (const std::string name :
       {"job.toml", "history.csv", "identity.txt", "checkpoint-000000000007.troupe"}) {
    temporary_folder folder;
    folder.write(name, "old");
    EXPECT_EQ(refusal_of(folder.path()),
              "the run directory holds an unfinished run (" + name + ")");
    EXPECT_EQ(refusal_of(folder.path(), earlier_run::replace), "");
  }
}

TEST(run_directory, beginning_removes_an_earlier_run_and_nothing_else) {
  temporary_folder folder;
  for (const auto* name : {"job.toml", "history.csv", "summary.json", "model.safetensors",
                           "identity.txt", "notes.txt"})
    folder.write(name, "old");
  std::filesystem::create_directory(folder.path("tensorboard"));
  folder.write("tensorboard/events.out.tfevents.1.host.2.0", "old");
  run_directory run{folder.path(), earlier_run::replace};
  run.begin("[job]\n", "seed = 1\n");
  EXPECT_EQ(names_in(folder.path()),
            (std::vector<std::string>{"identity.txt", "job.toml", "lock", "notes.txt"}));
  EXPECT_EQ(folder.read("job.toml"), "[job]\n");
  EXPECT_EQ(run.identity(), "seed = 1\n");
}

TEST(run_directory, files_for_tensorboard_stay_where_a_run_goes_on_or_others_wrote_them) {
  temporary_folder folder;
  std::filesystem::create_directory(folder.path("tensorboard"));
  const std::string name = "tensorboard/events.out.tfevents.1.host.2.0";
  folder.write(name, "old");
  folder.write("tensorboard/notes.txt", "");
  run_directory{folder.path(), earlier_run::resume}.begin("", "");
  EXPECT_EQ(folder.read(name), "old");
  run_directory{folder.path(), earlier_run::replace}.begin("", "");
  EXPECT_EQ(names_in(folder.path("tensorboard")), std::vector<std::string>{"notes.txt"});
}

TEST(run_directory, a_refusal_names_both_ways_out) {
  temporary_folder folder;
  folder.write("summary.json", "old");
  const auto error = test::failure_of([&] { run_directory{folder.path(), earlier_run::refuse}; });
  EXPECT_TRUE(test::contains(error.hint(), "--resume"));
  EXPECT_TRUE(test::contains(error.hint(), "--overwrite"));
}

TEST(run_directory, resuming_takes_away_the_summary_alone) {
  temporary_folder folder;
  for (const auto* name : {"job.toml", "history.csv", "summary.json", "model.safetensors"})
    folder.write(name, "old");
  run_directory run{folder.path(), earlier_run::resume};
  EXPECT_TRUE(run.has("summary.json")) << "nothing changes before the run begins";
  run.begin("[job]\n", "seed = 1\n");
  EXPECT_EQ(names_in(folder.path()),
            (std::vector<std::string>{"history.csv", "identity.txt", "job.toml", "lock",
                                      "model.safetensors"}));
  EXPECT_EQ(folder.read("job.toml"), "[job]\n");
}

TEST(run_directory, another_job_is_told_by_what_differs) {
  temporary_folder folder;
  run_directory run{folder.path(), earlier_run::resume};
  EXPECT_NO_THROW(run.expect_identity("seed = 1\n")) << "an empty folder is anybody's";
  run.begin("", "seed = 1\nmodel.hidden = 6\nmodel.hidden = 7\n");
  EXPECT_NO_THROW(run.expect_identity("seed = 1\nmodel.hidden = 6\nmodel.hidden = 7\n"));
  const auto error =
    test::failure_of([&] { run.expect_identity("seed = 2\nmodel.hidden = 6\nmodel.bias = 0\n"); });
  EXPECT_EQ(error.code(), failure_code::cannot_create);
  EXPECT_EQ(error.where(), folder.path());
  EXPECT_EQ(error.reason(), "the run directory holds another job, which differs in model.bias, "
                            "model.hidden, seed");
  EXPECT_TRUE(test::contains(error.hint(), "--overwrite instead of --resume"));
}

TEST(run_directory, a_run_that_does_not_say_whose_it_is_is_nobodys) {
  for (const std::string name : {"summary.json", "model.safetensors", "history.csv", "job.toml"}) {
    temporary_folder folder;
    folder.write(name, "old");
    const run_directory run{folder.path(), earlier_run::resume};
    EXPECT_THROW(run.expect_identity("seed = 1\n"), failure) << name;
  }
}

TEST(run_directory, file_that_cannot_be_removed_is_named) {
  temporary_folder folder;
  folder.write("x", "");
  std::filesystem::create_directories(folder.path("summary.json/inner"));
  run_directory run{folder.path(), earlier_run::replace};
  const auto error = test::failure_of([&] { run.begin("", ""); });
  EXPECT_EQ(error.code(), failure_code::cannot_create);
  EXPECT_EQ(error.where(), folder.path("summary.json"));
}

class flight_files : public ::testing::Test {
protected:
  std::unique_ptr<run_recorder> recorder(const std::string& process,
                                         const std::string& run_directory) const {
    // Their order is that of milliseconds.
    std::this_thread::sleep_for(std::chrono::milliseconds{2});
    return std::make_unique<run_recorder>(
      flight_place{memory_.path(), process, "digits", run_directory}, false);
  }
  /// Of a process that is gone; its only record says `step`.
  std::string left(const std::string& process, const std::string& run_directory,
                   uint64_t step = 0) const {
    const auto one = recorder(process, run_directory);
    one->new_ring({})->begin(trace_kind::slice, step, 0);
    return one->path();
  }
  flight_log read(const std::string& name) const {
    const auto bytes = run_.read(name);
    return read_flight(std::as_bytes(std::span{bytes}), name);
  }

  temporary_folder memory_;
  temporary_folder run_;
};

TEST_F(flight_files, those_of_dead_processes_are_found_in_order_of_their_begin) {
  const auto alive = recorder("main", run_.path());
  const auto first = left("z", run_.path()), second = left("a", "/other");
  memory_.write("troupe-odd-1.flight", "no recorder's file");
  memory_.write("else.flight", "");
  const auto found = left_flights(memory_.path());
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].path, first);
  EXPECT_EQ(found[0].process, "z");
  EXPECT_EQ(found[1].path, second);
  EXPECT_EQ(found[1].run_directory, "/other");
  EXPECT_TRUE(left_flights("/nowhere").empty());
}

TEST_F(flight_files, a_run_takes_in_its_own_and_the_newest_of_each_process) {
  left("left", run_.path(), 1);
  left("left", run_.path(), 2);
  left("right/1", run_.path(), 3);
  const auto others = left("left", "/other", 4);
  const auto alive = recorder("main", run_.path());
  const auto found = take_in_flights(memory_.path(), run_.path());
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0], run_.path("flight-left.bin"));
  EXPECT_EQ(found[1], run_.path("flight-right_1.bin"));
  EXPECT_EQ(read("flight-left.bin").tracks.at(0).records.at(0).step, 2u);
  EXPECT_LT(run_.read("flight-left.bin").size(), 100'000u) << "without the room of others";
  ASSERT_EQ(left_flights(memory_.path()).size(), 1u);
  EXPECT_EQ(left_flights(memory_.path())[0].path, others);
  EXPECT_TRUE(std::filesystem::exists(alive->path()));
}

TEST_F(flight_files, a_process_that_ends_badly_takes_in_its_own_while_actors_still_hold_it) {
  const auto own = recorder("main", run_.path());
  const auto ring = own->new_ring({});
  ring->begin(trace_kind::slice, 5, 0);
  EXPECT_TRUE(take_in_flights(memory_.path(), run_.path()).empty());
  own->let_go();
  EXPECT_EQ(take_in_flights(memory_.path(), run_.path()),
            std::vector{run_.path("flight-main.bin")});
  ring->begin(trace_kind::slice, 6, 0);
  EXPECT_EQ(read("flight-main.bin").tracks.at(0).records.size(), 1u);
}

TEST_F(flight_files, what_cannot_be_moved_stays) {
  const auto path = left("left", run_.path("none"));
  EXPECT_EQ(take_in_flights(memory_.path(), run_.path("none")), std::vector{path});
  EXPECT_TRUE(std::filesystem::exists(path));
}

TEST_F(flight_files, an_empty_one_whose_process_was_killed_as_it_made_it_goes_after_a_minute) {
  for (const auto* name : {"troupe-old-1.flight", "troupe-new-2.flight", "else.flight"})
    memory_.write(name, "");
  const auto old = std::filesystem::file_time_type::clock::now() - std::chrono::seconds{70};
  const std::filesystem::path folder = memory_.path();
  std::filesystem::last_write_time(folder / "troupe-old-1.flight", old);
  std::filesystem::last_write_time(folder / "else.flight", old);
  drop_old_flights(memory_.path());
  EXPECT_FALSE(std::filesystem::exists(folder / "troupe-old-1.flight"));
  EXPECT_TRUE(std::filesystem::exists(folder / "troupe-new-2.flight"));
  EXPECT_TRUE(std::filesystem::exists(folder / "else.flight"));
}

TEST_F(flight_files, what_nobody_takes_in_does_not_pile_up) {
  std::vector<std::string> paths;
  for (size_t i = 0; i < flight_files_kept + 3; ++i)
    paths.push_back(left("node" + std::to_string(i), "/run"));
  const auto alive = recorder("main", "/run");
  drop_old_flights(memory_.path());
  for (size_t i = 0; i < paths.size(); ++i)
    EXPECT_EQ(std::filesystem::exists(paths[i]), i >= 3) << i;
  EXPECT_TRUE(std::filesystem::exists(alive->path()));
}

} // namespace
} // namespace troupe::run_directory_test
