// The disk of this machine keeps the contract of the interface.

#include "data/disk/disk.hpp"

#include "tests/support/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cerrno>

namespace troupe::disk_test {
namespace {

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

// What `action` fails with.
template <class Action>
int error_of(Action action) {
  try {
    action();
  } catch (const disk_error& error) {
    return error.error_number();
  }
  return 0;
}

TEST(disk, what_was_written_is_read) {
  temporary_folder folder;
  const auto where = posix_disk();
  const auto path = folder.path("x");
  const auto file = where->create(path);
  file->reserve(4);
  file->write(4, bytes_of("two"));
  EXPECT_EQ(folder.read("x"), (std::string{"\0\0\0\0two", 7})) << "zeros where nobody wrote";
  file->write(0, bytes_of("xne "));
  file->write(0, bytes_of("o"));
  file->sync();
  EXPECT_EQ(folder.read("x"), "one two");
  const auto reader = where->open(path);
  EXPECT_EQ(reader->size(), 7u);
  std::array<char, 4> out{};
  EXPECT_EQ(reader->read(4, std::as_writable_bytes(std::span(out))), 3u) << "only where it ends";
  EXPECT_EQ(std::string(out.data()), "two");
  EXPECT_EQ(reader->read(7, std::as_writable_bytes(std::span(out))), 0u);
  where->remove(path);
  file->write(4, bytes_of("six"));
  EXPECT_EQ(reader->read(4, std::as_writable_bytes(std::span(out))), 3u) << "open as before";
  EXPECT_EQ(std::string(out.data()), "six");
}

TEST(disk, names_are_given_listed_and_taken_away) {
  temporary_folder folder;
  const auto where = posix_disk();
  folder.write("b", "new");
  folder.write("a", "old");
  EXPECT_EQ(where->list(folder.path()), (std::vector<std::string>{"a", "b"}));
  where->rename(folder.path("b"), folder.path("a"));
  EXPECT_EQ(folder.read("a"), "new");
  where->sync_folder(folder.path());
  where->remove(folder.path("a"));
  EXPECT_TRUE(where->list(folder.path()).empty());
  EXPECT_GT(where->bytes_available(folder.path()).value_or(0), 0u);
}

TEST(disk, failures_carry_their_number) {
  temporary_folder folder;
  const auto where = posix_disk();
  folder.write("x", "mine");
  EXPECT_EQ(error_of([&] { where->create(folder.path("x")); }), EEXIST);
  EXPECT_EQ(folder.read("x"), "mine");
  const auto missing = folder.path("no/such");
  EXPECT_EQ(error_of([&] { where->create(missing); }), ENOENT);
  EXPECT_EQ(error_of([&] { where->open(missing); }), ENOENT);
  EXPECT_EQ(error_of([&] { where->rename(missing, missing); }), ENOENT);
  EXPECT_EQ(error_of([&] { where->remove(missing); }), ENOENT);
  EXPECT_EQ(error_of([&] { where->list(missing); }), ENOENT);
  EXPECT_EQ(error_of([&] { where->sync_folder(missing); }), ENOENT);
  EXPECT_FALSE(where->bytes_available(missing));
  EXPECT_EQ(error_of([&] { where->open(folder.path()); }), EISDIR);
}

TEST(disk, a_failure_says_what_and_where) {
  const disk_error error{"write the file", "/some/where", ENOSPC};
  EXPECT_STREQ(error.what(), "/some/where: cannot write the file (No space left on device)");
}

TEST(disk, only_files_are_opened) {
  EXPECT_EQ(error_of([] { posix_disk()->open("/dev/zero"); }), EINVAL);
}

} // namespace
} // namespace troupe::disk_test
