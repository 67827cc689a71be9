#include "data/disk/atomic_file.hpp"

#include "data/text/failure.hpp"
#include "tests/support/contains.hpp"
#include "tests/support/failure_of.hpp"
#include "tests/support/process_limits.hpp"
#include "tests/support/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

namespace troupe::atomic_file_test {
namespace {

std::optional<failure> refusal_of(const std::string& path, const std::string& content = "new") {
  try {
    write_file_atomically(path, content);
  } catch (const failure& error) {
    EXPECT_EQ(error.where(), path);
    return error;
  }
  return std::nullopt;
}

size_t entry_count(const temporary_folder& folder) {
  std::filesystem::directory_iterator begin(folder.path()), end;
  return static_cast<size_t>(std::distance(begin, end));
}

mode_t mode_of(const std::string& path) {
  struct stat information {};
  EXPECT_EQ(stat(path.c_str(), &information), 0);
  return information.st_mode & 0777;
}

/// What the child process of the full-disk test answers.
enum full_disk_result { told_everything = 0, told_wrongly = 1, no_small_disk = 2 };

bool tell_kernel(const std::string& file, const std::string& text) {
  std::ofstream out("/proc/self/" + file);
  out << text << std::flush;
  return out.good();
}

/// Gives this process mounts of its own: root may have them, others as root of a user namespace.
bool enter_own_mounts() {
  auto user = std::to_string(geteuid()), group = std::to_string(getegid());
  if (unshare(CLONE_NEWNS) == 0)
    return true;
  return unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0 && tell_kernel("uid_map", "0 " + user + " 1") &&
         tell_kernel("setgroups", "deny") && tell_kernel("gid_map", "0 " + group + " 1");
}

/// Mounts 64 KiB at `folder`; false where that is not possible.
bool mount_small_disk(const std::string& folder) {
  if (!enter_own_mounts())
    return false;
  mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr);
  return mount("tmpfs", folder.c_str(), "tmpfs", 0, "size=64k") == 0;
}

/// Runs `body` in a child, on a small disk at a folder; skips the test where there can be none.
void expect_told_everything(full_disk_result (*body)(const std::string& folder)) {
  temporary_folder folder;
  const auto child = fork();
  ASSERT_GE(child, 0);
  if (child == 0)
    _exit(mount_small_disk(folder.path()) ? body(folder.path()) : no_small_disk);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == no_small_disk)
    GTEST_SKIP() << "no small file system can be mounted here";
  EXPECT_EQ(WEXITSTATUS(status), told_everything);
}

full_disk_result fill_small_disk(const std::string& folder) {
  auto error = refusal_of(folder + "/big", std::string(100'000, 'x'));
  auto told = error && error->code() == failure_code::io_error &&
              test::contains(error->reason(), "100000 bytes needed, ") &&
              test::contains(error->reason(), " 65536 available");
  return told && std::filesystem::is_empty(folder) ? told_everything : told_wrongly;
}

TEST(atomic_file, new_files_are_written_whole) {
  for (const auto& content : {std::string("binary \0 content", 16), std::string{}}) {
    temporary_folder folder;
    write_file_atomically(folder.path("a"), content);
    EXPECT_EQ(folder.read("a"), content);
    EXPECT_EQ(entry_count(folder), 1u);
  }
}

TEST(atomic_file, readers_of_the_old_file_keep_the_old_content) {
  temporary_folder folder;
  std::ifstream reader(folder.write("a", "old content"));
  write_file_atomically(folder.path("a"), "new");
  std::string seen;
  std::getline(reader, seen);
  EXPECT_EQ(seen, "old content");
  EXPECT_EQ(folder.read("a"), "new");
  EXPECT_EQ(entry_count(folder), 1u);
}

TEST(atomic_file, a_temporary_file_left_by_another_process_is_no_obstacle) {
  temporary_folder folder;
  for (int i = 0; i < 300; ++i)
    folder.write("a.tmp-" + std::to_string(getpid()) + "-" + std::to_string(i), "left");
  folder.write("a", "old"); // to be replaced: that takes a temporary name on every file system
  write_file_atomically(folder.path("a"), "new");
  EXPECT_EQ(folder.read("a"), "new");
  EXPECT_EQ(entry_count(folder), 301u);
}

TEST(atomic_file, permissions_are_those_of_the_old_file_or_the_usual_ones) {
  temporary_folder folder;
  EXPECT_EQ(mode_of(folder.write("usual", "")), [&] {
    write_file_atomically(folder.path("new"), "x");
    return mode_of(folder.path("new"));
  }());
  ASSERT_EQ(chmod(folder.write("old", "").c_str(), 0604), 0);
  write_file_atomically(folder.path("old"), "x");
  EXPECT_EQ(mode_of(folder.path("old")), 0604u);
}

TEST(atomic_file, a_missing_folder_is_told) {
  temporary_folder folder;
  auto error = refusal_of(folder.path("none/a"));
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), failure_code::cannot_create);
  EXPECT_EQ(error->hint(), "create the folder first");
  EXPECT_EQ(refusal_of(folder.write("file", "") + "/a")->code(), failure_code::cannot_create);
}

TEST(atomic_file, folders_and_devices_are_not_replaced) {
  temporary_folder folder;
  auto error = refusal_of(folder.path());
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), failure_code::cannot_create);
  auto pipe = folder.path("pipe");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  ASSERT_TRUE(refusal_of(pipe));
  EXPECT_TRUE(std::filesystem::is_fifo(pipe));
}

TEST(atomic_file, a_folder_that_may_not_be_written_is_told) {
  temporary_folder folder;
  ASSERT_EQ(chmod(folder.path().c_str(), 0555), 0);
  auto error = [&] {
    unprivileged nobody;
    return refusal_of(folder.path("a"));
  }();
  chmod(folder.path().c_str(), 0700);
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), failure_code::no_permission);
}

TEST(atomic_file, a_write_that_fails_half_way_leaves_the_old_file_and_nothing_else) {
  temporary_folder folder;
  auto path = folder.write("a", "old");
  auto error = [&] {
    file_size_limit limit(4096);
    return refusal_of(path, std::string(10'000, 'x'));
  }();
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), failure_code::io_error);
  EXPECT_EQ(folder.read("a"), "old");
  EXPECT_EQ(entry_count(folder), 1u);
}

TEST(atomic_file, a_full_disk_is_told_with_bytes_needed_and_available) {
  expect_told_everything(fill_small_disk);
}

full_disk_result reserve_on_small_disk(const std::string& folder) {
  const auto error =
    test::failure_of([&] { atomic_file{folder + "/model"}.reserve(100'000); }, "reserved");
  if (error.code() != failure_code::io_error ||
      !test::contains(error.reason(), "cannot reserve room for the file") ||
      !test::contains(error.reason(), "100000 bytes needed, 65536 available") ||
      !std::filesystem::is_empty(folder))
    return told_wrongly;
  const std::string content(32'000, 'x');
  atomic_file model{folder + "/model"};
  model.reserve(40'000);
  const auto hog = refusal_of(folder + "/hog", std::string(30'000, 'h')); // 24 KiB are left
  if (!hog || !std::filesystem::is_empty(folder))
    return told_wrongly;
  model.append(content);
  model.publish();
  const auto rest = refusal_of(folder + "/rest", std::string(30'000, 'r'));
  return std::filesystem::file_size(folder + "/model") == content.size() && !rest ? told_everything
                                                                                  : told_wrongly;
}

// Who fills the disk meanwhile gets less of it; what was reserved and not used is free again.
TEST(atomic_file, room_that_was_taken_is_there_when_the_disk_is_full) {
  expect_told_everything(reserve_on_small_disk);
}

TEST(atomic_file, room_that_is_not_used_leaves_nothing) {
  const temporary_folder folder;
  folder.write("model", "old");
  { atomic_file{folder.path("model")}.reserve(10'000); }
  EXPECT_EQ(folder.read("model"), "old");
  EXPECT_EQ(entry_count(folder), 1u);
  atomic_file room{folder.path("model")};
  room.reserve(4);
  room.append("one ");
  room.append("two");
  room.publish();
  EXPECT_EQ(folder.read("model"), "one two") << "more than was taken";
  EXPECT_EQ(entry_count(folder), 1u);
}

TEST(atomic_file, in_parts_has_no_name_before_it_is_published) {
  const temporary_folder folder;
  folder.write("out", "old");
  atomic_file file{folder.path("out")};
  file.append("??, part one");
  file.append(", part two");
  file.write_at(0, std::as_bytes(std::span{"it", 2}));
  EXPECT_EQ(folder.read("out"), "old");
  file.publish();
  EXPECT_EQ(folder.read("out"), "it, part one, part two");
}

TEST(atomic_file, that_failed_once_fails_again) {
  const temporary_folder folder;
  atomic_file file{folder.path("out")};
  const std::string large(10'000, 'x');
  const auto error_of = [&] { return test::failure_of([&] { file.append(large); }, "").reason(); };
  const auto first = [&] {
    file_size_limit limit(4096);
    return error_of();
  }();
  EXPECT_NE(first, "");
  EXPECT_EQ(error_of(), first);
  EXPECT_THROW(file.publish(), failure);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(atomic_file, a_file_for_its_owner_replaces_nothing_unasked) {
  const temporary_folder folder;
  const auto write = [&](const std::string& content, bool replaces) {
    write_file_atomically(folder.path("key"), content, {mode_for_owner, replaces});
  };
  write("one", false);
  EXPECT_EQ(mode_of(folder.path("key")), 0600u);
  EXPECT_EQ(test::failure_of([&] { write("two", false); }).code(), failure_code::cannot_create);
  EXPECT_EQ(folder.read("key"), "one");
  ASSERT_EQ(chmod(folder.path("key").c_str(), 0640), 0);
  write("two", true);
  EXPECT_EQ(mode_of(folder.path("key")), 0600u) << "whatever the old one had";
  EXPECT_EQ(folder.read("key"), "two");
  write_file_atomically(folder.path("a.pem"), "x", {mode_for_everyone, false});
  EXPECT_EQ(mode_of(folder.path("a.pem")), 0644u);
  EXPECT_EQ(entry_count(folder), 2u) << "no draft is left behind";
}

TEST(atomic_file, in_parts_that_is_given_up_leaves_nothing) {
  const temporary_folder folder;
  { atomic_file{folder.path("out")}.append("half"); }
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
  EXPECT_THROW(atomic_file{folder.path("none/out")}, failure);
}

} // namespace
} // namespace troupe::atomic_file_test
