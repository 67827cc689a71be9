// The disk in memory keeps what POSIX promises and no more.

#include "tests/simulation/simulated_disk.hpp"

#include "data/checkpoint/checkpoint_store.hpp"
#include "data/text/failure.hpp"
#include "tests/support/some_checkpoint.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cerrno>
#include <set>

namespace troupe::simulation {
namespace {

std::vector<std::byte> bytes_of(size_t count, uint8_t value = 7) {
  return std::vector<std::byte>(count, std::byte{value});
}

size_t size_of(const simulated_disk& disk, const std::string& path) {
  return static_cast<size_t>(disk.open(path)->size());
}

simulated_disk disk_with_folder(uint64_t seed) {
  simulated_disk disk{seed};
  disk.make_folder("run");
  return disk;
}

TEST(simulated_disk, what_is_synced_survives_a_power_cut) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    auto disk = disk_with_folder(seed);
    const auto file = disk.create("run/a");
    file->write(0, bytes_of(1000));
    file->sync();
    disk.sync_folder("run");
    disk.lose_power();
    ASSERT_EQ(disk.list("run"), std::vector<std::string>{"a"});
    EXPECT_EQ(size_of(disk, "run/a"), 1000u);
  }
}

TEST(simulated_disk, of_what_is_not_synced_anything_may_be_left) {
  std::set<size_t> sizes;
  size_t missing = 0;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    auto disk = disk_with_folder(seed);
    const auto file = disk.create("run/a");
    file->write(0, bytes_of(1000));
    disk.lose_power();
    if (disk.list("run").empty())
      ++missing;
    else
      sizes.insert(size_of(disk, "run/a"));
  }
  EXPECT_GT(missing, 50u);
  EXPECT_TRUE(sizes.contains(0) && sizes.contains(1000));
  EXPECT_GT(sizes.size(), 10u);
}

TEST(simulated_disk, a_rename_without_a_synced_folder_may_be_lost) {
  size_t kept = 0;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    auto disk = disk_with_folder(seed);
    disk.create("run/old")->sync();
    disk.sync_folder("run");
    disk.rename("run/old", "run/new");
    disk.lose_power();
    const auto names = disk.list("run");
    ASSERT_EQ(names.size(), 1u);
    kept += names[0] == "new" ? 1 : 0;
  }
  EXPECT_GT(kept, 20u);
  EXPECT_LT(kept, 80u);
}

TEST(simulated_disk, a_dead_process_leaves_all_that_it_wrote) {
  auto disk = disk_with_folder(1);
  const auto file = disk.create("run/a");
  file->write(0, bytes_of(10));
  disk.close_all();
  EXPECT_EQ(size_of(disk, "run/a"), 10u);
  EXPECT_THROW(file->write(0, bytes_of(1)), disk_error);
}

TEST(simulated_disk, a_full_disk_takes_what_fits_and_says_so) {
  auto disk = disk_with_folder(1);
  disk.set_capacity(100);
  const auto file = disk.create("run/a");
  file->write(0, bytes_of(60));
  EXPECT_EQ(disk.bytes_available("run"), 40u);
  try {
    file->write(60, bytes_of(60));
    FAIL();
  } catch (const disk_error& error) {
    EXPECT_EQ(error.error_number(), ENOSPC);
  }
  EXPECT_EQ(size_of(disk, "run/a"), 100u);
}

TEST(simulated_disk, power_is_cut_in_the_middle_of_the_operation_that_is_due) {
  auto disk = disk_with_folder(1);
  bool told = false;
  disk.cut_power_after(2, [&] { told = true; });
  const auto file = disk.create("run/a");
  file->write(0, bytes_of(10));
  EXPECT_FALSE(told);
  EXPECT_THROW(file->sync(), disk_error);
  EXPECT_TRUE(told);
  EXPECT_THROW(disk.open("run/a"), disk_error);
  disk.lose_power();
  EXPECT_NO_THROW(disk.list("run"));
}

TEST(simulated_disk, rot_flips_one_bit) {
  auto disk = disk_with_folder(1);
  EXPECT_FALSE(disk.rot());
  disk.create("run/a")->write(0, bytes_of(64, 0));
  EXPECT_TRUE(disk.rot());
  std::vector<std::byte> now(64);
  disk.open("run/a")->read(0, now);
  int bits = 0;
  for (auto byte : now)
    bits += std::popcount(std::to_integer<unsigned>(byte));
  EXPECT_EQ(bits, 1);
}

/// Writes checkpoints 10, 20, ... until the power goes; true when it did.
bool write_until_cut(const std::shared_ptr<simulated_disk>& disk, size_t count,
                     uint64_t& last_written) {
  try {
    checkpoint_store store{disk, "run"};
    for (size_t i = 1; i <= count; ++i) {
      store.write(some_checkpoint(10 * i));
      last_written = 10 * i;
    }
  } catch (const failure&) {
    return true;
  }
  return false;
}

TEST(simulated_disk, a_checkpoint_that_was_written_survives_every_power_cut) {
  for (uint64_t seed = 0; seed < 400; ++seed) {
    const auto disk = std::make_shared<simulated_disk>(seed);
    disk->make_folder("run");
    disk->cut_power_after(seed % 40, [] {});
    uint64_t last_written = 0;
    write_until_cut(disk, 3, last_written);
    disk->lose_power();
    const checkpoint_store store{disk, "run"};
    const auto found = store.versions().empty() ? checkpoint_search{} : store.latest("a1");
    const auto newest = found.newest ? found.newest->version : 0;
    EXPECT_GE(newest, last_written) << "seed " << seed;
    EXPECT_TRUE(found.skipped.empty()) << "seed " << seed;
  }
}

} // namespace
} // namespace troupe::simulation
