// Bad files cost little memory: each is read by a process that may take 96 MiB more than it has.

#include "data/formats/arrays/read_array.hpp"
#include "data/formats/csv/csv.hpp"
#include "data/formats/libsvm/libsvm.hpp"
#include "data/text/failure.hpp"
#include "tests/support/gzip_text.hpp"
#include "tests/support/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <limits>

#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <new>
#include <string>

namespace troupe::memory_test {

namespace {

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
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "sanitizers take more address space than the limit";
#endif
  }

  temporary_folder folder;
};

} // namespace

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

} // namespace troupe::memory_test
