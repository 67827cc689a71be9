// The disk of this machine keeps the contract of the interface.

#include "data/disk/disk.hpp"

#include "data/disk/stored_tensor.hpp"
#include "data/text/failure.hpp"
#include "tests/support/failure_of.hpp"
#include "tests/support/plain_disk.hpp"
#include "tests/support/process_limits.hpp"
#include "tests/support/some_checkpoint.hpp"
#include "tests/support/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <stdexcept>
#include <utility>

namespace troupe::disk_test {
namespace {

template <class T>
concept has_values = requires(T&& x) {
  std::forward<T>(x).values();
};
static_assert(has_values<const stored_tensor&>);
static_assert(!has_values<stored_tensor>, "of a temporary one, what refers to it would be gone");

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

// Tensors in files without a name: what was written is read, and nothing is left.

TEST(scratch_tensor, what_was_written_in_any_order_is_read_and_nobody_sees_a_file) {
  temporary_folder folder;
  scratch_pool pool{posix_disk(), folder.path(), 100, 1};
  const auto one = pool.acquire();
  const auto values = some_tensor(100, 3);
  for (const size_t first : {60, 0, 30, 60})
    one->write(first, values.values().subspan(first, first == 60 ? 40 : 30));
  EXPECT_TRUE(posix_disk()->list(folder.path()).empty());
  const stored_tensor stored{std::shared_ptr<const tensor_reader>{one}};
  EXPECT_FALSE(stored.is_in_memory());
  std::vector<float> part(7);
  stored.read(55, part);
  EXPECT_TRUE(std::ranges::equal(part, values.values().subspan(55, 7)));
  EXPECT_TRUE(same_bits(stored, values));
  EXPECT_TRUE(stored.whole().same_storage(stored_tensor{stored}.whole())) << "read once";
  EXPECT_THROW(stored.read(95, part), std::out_of_range);
  EXPECT_THROW(one->write(95, part), std::out_of_range);
}

TEST(scratch_tensor, one_that_nobody_has_is_used_again) {
  temporary_folder folder;
  scratch_pool pool{posix_disk(), folder.path(), 4, 1};
  auto best = pool.acquire();
  const auto* const first = best.get();
  auto next = pool.acquire();
  EXPECT_NE(next.get(), first);
  best = std::move(next);
  EXPECT_EQ(pool.acquire().get(), first);
}

TEST(scratch_tensor, what_is_not_whole_is_not_read) {
  temporary_folder folder;
  scratch_pool pool{posix_disk(), folder.path(), 4, 0};
  const auto one = pool.acquire();
  std::vector<float> all(4);
  EXPECT_THROW(one->read(0, all), failure);
  one->write(0, std::span(all).first(3));
  EXPECT_THROW(one->read(0, all), failure);
}

// Else whoever copies it elsewhere, later and with a disk that works again, copies a hole.
TEST(scratch_tensor, after_a_write_that_failed_nothing_is_read) {
  temporary_folder folder;
  const auto one = scratch_pool{posix_disk(), folder.path(), 4, 0}.acquire();
  std::vector<float> all(4);
  one->write(0, all);
  one->read(0, all);
  {
    const file_size_limit limit{4};
    EXPECT_THROW(one->write(1, std::span(all).first(2)), failure);
  }
  EXPECT_THROW(one->read(3, std::span(all).first(1)), failure);
}

TEST(scratch_tensor, a_full_disk_is_told_when_room_is_taken_or_by_a_write) {
  const auto where = std::make_shared<plain_disk>();
  where->error_number = ENOSPC;
  for (const std::string operation : {"reserve", "write"}) {
    where->failing = operation;
    where->passes = 0;
    const auto error = test::failure_of([&] {
      scratch_pool{where, "run", 100, 1}.acquire()->write(0, some_tensor(100, 1).values());
    });
    EXPECT_EQ(error.code(), failure_code::io_error);
    EXPECT_EQ(error.where(), "run");
    EXPECT_TRUE(error.reason().ends_with(": 400 bytes needed, 1000 available")) << error.reason();
    EXPECT_TRUE(where->files.empty());
  }
}

} // namespace
} // namespace troupe::disk_test
