#include "data/formats/arrays/read_array.hpp"
#include "data/formats/csv/csv.hpp"
#include "data/formats/libsvm/libsvm.hpp"
#include "data/table/memory_room.hpp"
#include "data/text/failure.hpp"
#include "tests/support/contains.hpp"
#include "tests/support/failure_of.hpp"
#include "tests/support/gzip_text.hpp"
#include "tests/support/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <limits>
#include <new>
#include <string>
#include <thread>
#include <vector>

namespace troupe::memory_room_test {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool is_sanitized = true;
#else
constexpr bool is_sanitized = false;
#endif

constexpr uint64_t mebibyte = uint64_t{1} << 20;
constexpr uint64_t address_space = 64 * 1024 * mebibyte;

/// What `check` finds in a child whose address space is limited.
bool holds_in_address_space_of_64_gib(const std::function<bool()>& check) {
  const pid_t child = fork();
  if (child == 0) {
    const rlimit limit{address_space, RLIM_INFINITY};
    _exit(setrlimit(RLIMIT_AS, &limit) == 0 && check() ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  return status == 0;
}

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

TEST_F(memory_room, is_what_the_machine_has_left_or_the_control_group_when_that_is_less) {
  EXPECT_EQ(available(), std::numeric_limits<uint64_t>::max()) << "nothing bounds it";
  tell("proc/meminfo", "MemTotal:  8000 kB\nMemFree: 10 kB\nMemAvailable:    3000 kB\n");
  EXPECT_EQ(available(), 3000u * 1024);
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
  EXPECT_TRUE(holds_in_address_space_of_64_gib([&] { return available() <= address_space; }));
}

// Arenas of threads' own are 64 MiB each.
TEST_F(memory_room, threads_share_an_arena_where_address_space_is_limited) {
  if (is_sanitized)
    GTEST_SKIP() << "sanitizers have an allocator of their own";
  EXPECT_TRUE(holds_in_address_space_of_64_gib([] {
    spare_address_space();
    const auto before = memory_left().address_space;
    uint64_t taken = 0;
    std::thread{[&] {
      const std::vector<char> some(100'000);
      taken = before - memory_left().address_space + static_cast<uint64_t>(some[7]);
    }}.join();
    return taken < 32 * mebibyte;
  }));
}

std::string refusal(const std::function<void()>& action) {
  const auto error = test::failure_of(action, "accepted");
  if (error.reason() != "accepted") {
    EXPECT_EQ(error.code(), failure_code::bad_data);
    EXPECT_FALSE(error.hint().empty());
  }
  return error.reason();
}

std::string repeated(const std::string& line, size_t count) {
  std::string result;
  for (size_t i = 0; i < count; ++i)
    result += line;
  return result;
}

TEST(table_limit, is_the_memory_that_is_available_unless_given) {
  EXPECT_EQ(table_limit("x", 7).bytes_max(), 7u);
  const auto available = table_limit("x").bytes_max();
  EXPECT_GT(available, uint64_t{1} << 20);
  EXPECT_LT(available, std::numeric_limits<uint64_t>::max());
  EXPECT_EQ(refusal([] { table_limit("x", 7).require(7); }), "accepted");
  EXPECT_EQ(refusal([] { table_limit("x", 7).require(8); }),
            "the table needs at least 8 bytes of memory, 7 are available");
}

// Of two columns the targets take most of the memory.
TEST(table_limit, counts_the_numbers_of_targets_and_what_they_become) {
  const temporary_folder folder;
  const auto csv = folder.write("rows.csv", repeated("1,2\n", 10'000));
  const auto svm = folder.write("rows.svm", repeated("2 1:1\n", 10'000));
  csv_options for_csv;
  for_csv.table_bytes_max = 10'000 * (4 + 32 + 8);
  libsvm_options for_svm{.table_bytes_max = 10'000 * (4 + 8 + 8 + 32 + 8)};
  EXPECT_NE(refusal([&] { read_csv(csv, for_csv); }), "accepted");
  EXPECT_NE(refusal([&] { read_libsvm(svm, for_svm); }), "accepted");
  for_csv.table_bytes_max += 10'000 * 4;
  for_svm.table_bytes_max += 10'000 * 4 + 64;
  EXPECT_EQ(refusal([&] { read_csv(csv, for_csv); }), "accepted");
  EXPECT_EQ(refusal([&] { read_libsvm(svm, for_svm); }), "accepted");
}

TEST(table_limit, ends_a_compressed_text_that_never_seems_to) {
  const temporary_folder folder;
  for (const std::string line : {"1,1,1,1,1,1,1,0\n", "1,1,1,1,1,1,1,\"0\"\n"}) { // both ways
    const auto content = gzip_text(repeated(line, 100'000));
    ASSERT_LT(content.size(), 100'000u);
    const auto path = folder.write("bomb.csv.gz", content);
    csv_options options;
    options.table_bytes_max = 1 << 20;
    const auto said = refusal([&] { read_csv(path, options); });
    EXPECT_TRUE(test::contains(said, "memory, 1048576 are available"));
    options.table_bytes_max = 1 << 24;
    EXPECT_EQ(refusal([&] { read_csv(path, options); }), "accepted");
  }
}

TEST(table_limit, ends_rows_that_name_little_of_much) {
  const temporary_folder folder;
  const auto path = folder.write("bomb.svm.gz", gzip_text(repeated("1 1000:1\n", 1000)));
  libsvm_options options{.form = row_form::dense, .table_bytes_max = 1 << 20};
  const auto said = refusal([&] { read_libsvm(path, options); });
  EXPECT_TRUE(test::contains(said, "memory, 1048576 are available"));
  options.table_bytes_max = 1 << 24;
  EXPECT_EQ(refusal([&] { read_libsvm(path, options); }), "accepted");
}

TEST(table_limit, ends_a_compressed_array_at_its_header) {
  const temporary_folder folder;
  // 2^20 rows of 8 bytes: 32 MiB as float32, promised by 16 bytes and never delivered.
  const std::string header("\0\0\x08\2\0\x10\0\0\0\0\0\x08", 12);
  array_options options;
  options.table_bytes_max = 1 << 20;
  const auto path = folder.write("bomb.idx.gz", gzip_text(header));
  EXPECT_EQ(refusal([&] { read_array(path, options); }),
            "the table needs at least 33554688 bytes of memory, 1048576 are available");
}

// Bad files cost little memory: each is read by a process that may take 96 MiB more than it has.

using namespace std::string_literals;

constexpr size_t allowance_bytes = size_t{96} << 20;

void limit_memory() {
  size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  const auto bytes = pages * static_cast<size_t>(sysconf(_SC_PAGESIZE)) + allowance_bytes;
  const rlimit limit{bytes, bytes};
  setrlimit(RLIMIT_AS, &limit);
}

/// Ends the process: 0 after a failure, whose text goes to stderr; 1 when memory ran out.
template <class Read>
[[noreturn]] void read_in_little_memory(Read read) {
  limit_memory();
  try {
    read();
    std::_Exit(2);
  } catch (const failure& error) {
    std::fprintf(stderr, "%s\n", error.what());
    std::_Exit(0);
  } catch (const std::bad_alloc&) {
    std::_Exit(1);
  }
}

class memory : public testing::Test {
protected:
  void SetUp() override {
    if (is_sanitized)
      GTEST_SKIP() << "sanitizers take more address space than the limit";
  }

  temporary_folder folder;
};

TEST_F(memory, lines_of_100_megabytes_are_refused) {
  const auto path = folder.write("rows", "1,2\n" + std::string(100'000'000, '1') + ",2\n");
  EXPECT_EXIT(read_in_little_memory([&] { read_csv(path); }), testing::ExitedWithCode(0),
              ":2:1: the line is longer than 16777216 bytes");
  folder.write("rows", "1 1:1\n1 1:" + std::string(100'000'000, '1'));
  EXPECT_EXIT(read_in_little_memory([&] { read_libsvm(path); }), testing::ExitedWithCode(0),
              ":2:1: the line is longer than 16777216 bytes");
}

TEST_F(memory, quotation_marks_that_never_close_are_refused) {
  const auto path = folder.write("rows", "1,2\n1,\"" + std::string(100'000'000, '\n'));
  EXPECT_EXIT(read_in_little_memory([&] { read_csv(path); }), testing::ExitedWithCode(0),
              ":2:3: the quotation mark that opens here is never closed");
}

TEST_F(memory, headers_of_compressed_arrays_are_not_believed) {
  const auto idx = "\0\0\x0e\2\xff\xff\xff\xff\0\xff\xff\xff"s + std::string(100'000, '\0');
  const auto path = folder.write("rows", gzip_text(idx));
  EXPECT_EXIT(read_in_little_memory([&] { read_array(path); }), testing::ExitedWithCode(0),
              "the table needs at least 288230359441604580 bytes of memory");
  array_options believing; // as if a machine had that much
  believing.table_bytes_max = std::numeric_limits<uint64_t>::max();
  EXPECT_EXIT(read_in_little_memory([&] { read_array(path, believing); }),
              testing::ExitedWithCode(0), "the file ends within the values, at byte 100012");
}

TEST_F(memory, dense_tables_of_sparse_lies_are_refused) {
  std::string text = "1 1000000:1\n";
  for (int i = 0; i < 1'000'000; ++i)
    text += "1\n";
  const auto path = folder.write("rows", text);
  EXPECT_EXIT(read_in_little_memory([&] { read_libsvm(path, {.form = row_form::dense}); }),
              testing::ExitedWithCode(0), "dense rows of 1000000 features, too many values");
}

} // namespace
} // namespace troupe::memory_room_test
