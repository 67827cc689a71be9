#include "troupe/data/run_directory.hpp"

#include "troupe/data/failure.hpp"
#include "troupe/tests/support/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

namespace troupe {
namespace {

// The reason why a run directory was refused; empty when it was not.
std::string refusal_of(const std::string& path, bool overwrite = false) {
  try {
    run_directory folder{path, overwrite};
  } catch (const failure& error) {
    EXPECT_EQ(error.code(), failure_code::cannot_create);
    EXPECT_EQ(error.where(), path);
    return error.reason();
  }
  return {};
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
  run_directory run{folder.path("a/b/c"), false};
  EXPECT_EQ(names_in(folder.path("a/b/c")), std::vector<std::string>{"lock"});
  EXPECT_EQ(folder.read("a/b/c/lock"), std::to_string(getpid()) + "\n");
  EXPECT_EQ(run.file("x"), folder.path("a/b/c/x"));
}

TEST(run_directory, nothing_is_left_when_it_did_not_begin) {
  temporary_folder folder;
  EXPECT_EQ(refusal_of(folder.path("run")), "");
  EXPECT_TRUE(names_in(folder.path("run")).empty());
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

TEST(run_directory, second_user_of_a_folder_is_refused_and_told_the_first) {
  temporary_folder folder;
  const auto path = folder.path("run");
  std::optional<run_directory> first{std::in_place, path, false};
  EXPECT_EQ(refusal_of(path, true),
            "the run directory is in use by process " + std::to_string(getpid()));
  EXPECT_TRUE(folder.has("run/lock")) << "a refusal must not break the other's lock";
  first.reset();
  EXPECT_EQ(refusal_of(path, true), "");
}

TEST(run_directory, lock_of_a_process_that_died_does_not_count) {
  temporary_folder folder;
  const auto path = folder.path("run");
  const pid_t child = fork();
  if (child == 0) {
    run_directory run{path, false};
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
    EXPECT_EQ(refusal_of(folder.path(), true), "");
    EXPECT_EQ(folder.read(name), "old") << "nothing changes before the run begins";
  }
  for (const std::string name : {"job.toml", "history.csv"}) {
    temporary_folder folder;
    folder.write(name, "old");
    EXPECT_EQ(refusal_of(folder.path()),
              "the run directory holds an unfinished run (" + name + ")");
    EXPECT_EQ(refusal_of(folder.path(), true), "");
  }
}

TEST(run_directory, beginning_removes_an_earlier_run_and_nothing_else) {
  temporary_folder folder;
  for (const auto* name :
       {"job.toml", "history.csv", "summary.json", "model.safetensors", "notes.txt"})
    folder.write(name, "old");
  run_directory run{folder.path(), true};
  run.begin("[job]\n");
  EXPECT_EQ(names_in(folder.path()), (std::vector<std::string>{"job.toml", "lock", "notes.txt"}));
  EXPECT_EQ(folder.read("job.toml"), "[job]\n");
}

TEST(run_directory, file_that_cannot_be_removed_is_named) {
  temporary_folder folder;
  folder.write("x", "");
  std::filesystem::create_directories(folder.path("summary.json/inner"));
  run_directory run{folder.path(), true};
  try {
    run.begin("");
    FAIL();
  } catch (const failure& error) {
    EXPECT_EQ(error.code(), failure_code::cannot_create);
    EXPECT_EQ(error.where(), folder.path("summary.json"));
  }
}

} // namespace
} // namespace troupe
