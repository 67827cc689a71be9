// Tensors in files without a name: what was written is read, and nothing is left.

#include "data/disk/scratch_tensor.hpp"

#include "data/text/failure.hpp"
#include "tests/support/plain_disk.hpp"
#include "tests/support/process_limits.hpp"
#include "tests/support/some_checkpoint.hpp"
#include "tests/support/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>

namespace troupe::scratch_tensor_test {
namespace {

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
    try {
      scratch_pool{where, "run", 100, 1}.acquire()->write(0, some_tensor(100, 1).values());
      FAIL();
    } catch (const failure& error) {
      EXPECT_EQ(error.code(), failure_code::io_error);
      EXPECT_EQ(error.where(), "run");
      EXPECT_TRUE(error.reason().ends_with(": 400 bytes needed, 1000 available")) << error.reason();
    }
    EXPECT_TRUE(where->files.empty());
  }
}

} // namespace
} // namespace troupe::scratch_tensor_test
