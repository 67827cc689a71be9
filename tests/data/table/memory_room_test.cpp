#include "troupe/data/table/memory_room.hpp"

#include "troupe/tests/support/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <thread>
#include <vector>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace troupe::memory_room_test {
namespace {

constexpr uint64_t mebibyte = uint64_t{1} << 20;

class memory_room : public testing::Test {
protected:
  void tell(const std::string& name, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path{folder_.path(name)}.parent_path());
    folder_.write(name, text);
  }
  uint64_t available() const {
    return memory_available({folder_.path("proc"), folder_.path("groups")});
  }

private:
  temporary_folder folder_;
};

TEST_F(memory_room, nothing_bounds_it_where_nothing_is_told) {
  EXPECT_EQ(available(), std::numeric_limits<uint64_t>::max());
}

TEST_F(memory_room, is_what_the_machine_has_left) {
  tell("proc/meminfo", "MemTotal:  8000 kB\nMemFree: 10 kB\nMemAvailable:    3000 kB\n");
  EXPECT_EQ(available(), 3000u * 1024);
}

TEST_F(memory_room, is_what_the_control_group_leaves_when_that_is_less) {
  tell("proc/meminfo", "MemAvailable:    3000 kB\n");
  tell("proc/self/cgroup", "0::/jobs/one\n");
  tell("groups/jobs/one/memory.max", "1000000\n");
  tell("groups/jobs/one/memory.current", "700000\n");
  EXPECT_EQ(available(), 300'000u);
  tell("groups/jobs/one/memory.stat", "anon 5\ninactive_file 100000\nactive_file 7\n");
  EXPECT_EQ(available(), 400'000u) << "pages of files are given back";
  tell("groups/jobs/one/memory.max", "max\n");
  EXPECT_EQ(available(), 3000u * 1024);
}

TEST_F(memory_room, every_group_around_counts) {
  tell("proc/self/cgroup", "0::/jobs/one\n");
  tell("groups/jobs/one/memory.max", "1000000\n");
  tell("groups/jobs/one/memory.current", "0\n");
  tell("groups/jobs/memory.max", "500000\n");
  tell("groups/jobs/memory.current", "600000\n");
  EXPECT_EQ(available(), 0u);
}

TEST_F(memory_room, a_container_sees_its_group_as_the_root) {
  tell("proc/self/cgroup", "0::/../../outer/name\n");
  tell("groups/memory.max", "4096\n");
  tell("groups/memory.current", "96\n");
  EXPECT_EQ(available(), 4000u);
}

TEST_F(memory_room, version_1_has_other_names) {
  tell("proc/self/cgroup", "9:name=systemd:/x\n4:cpu,memory:/box\n0::/\n");
  tell("groups/memory/box/memory.limit_in_bytes", "9223372036854771712\n");
  tell("groups/memory/box/memory.usage_in_bytes", "5\n");
  EXPECT_EQ(available(), 9223372036854771707u);
  tell("groups/memory/box/memory.limit_in_bytes", "1005\n");
  tell("groups/memory/box/memory.stat", "inactive_file 9\ntotal_inactive_file 2\n");
  EXPECT_EQ(available(), 1002u);
}

TEST_F(memory_room, is_bounded_by_the_address_space) {
  const pid_t child = fork();
  if (child == 0) {
    const rlimit limit{64 * 1024 * mebibyte, RLIM_INFINITY};
    _exit(setrlimit(RLIMIT_AS, &limit) == 0 && available() <= 64 * 1024 * mebibyte ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

// Arenas of threads' own are 64 MiB each.
TEST_F(memory_room, threads_share_an_arena_where_address_space_is_limited) {
  const pid_t child = fork();
  if (child == 0) {
    const rlimit limit{64 * 1024 * mebibyte, RLIM_INFINITY};
    setrlimit(RLIMIT_AS, &limit);
    spare_address_space();
    const auto before = memory_left().address_space;
    uint64_t taken = 0;
    std::thread{[&] {
      const std::vector<char> some(100'000);
      taken = before - memory_left().address_space + static_cast<uint64_t>(some[7]);
    }}.join();
    _exit(taken < 32 * mebibyte ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

} // namespace
} // namespace troupe::memory_room_test
