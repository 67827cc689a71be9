#include "data/privacy/key_file.hpp"
#include "data/privacy/release_ledger.hpp"
#include "data/text/failure.hpp"
#include "tests/support/failure_of.hpp"
#include "tests/support/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <sys/stat.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

namespace troupe::release_ledger_test {
namespace {

const std::vector<privacy_release> three{
  {0, 0, 0.1, 1.5, 0.25}, {1, 0, 0.1, 1.5, 0.375}, {1, 1, 0.1, 1.5, 0.4}};

std::string written(const temporary_folder& folder) {
  release_ledger ledger{folder.path("releases.csv")};
  for (const auto& one : three)
    ledger.record(one);
  return folder.read("releases.csv");
}

failure_code refusal_of(const std::string& text) {
  const temporary_folder folder;
  return test::failure_of([&] { release_ledger{folder.write("releases.csv", text)}; }).code();
}

TEST(release_ledger, is_there_again_after_the_process) {
  const temporary_folder folder;
  const auto text = written(folder);
  EXPECT_EQ(text, "round,attempt,sampling_rate,noise,epsilon\n0,0,0.1,1.5,0.25\n"
                  "1,0,0.1,1.5,0.375\n1,1,0.1,1.5,0.4\n");
  const release_ledger again{folder.path("releases.csv")};
  EXPECT_EQ(again.releases(), three);
  EXPECT_EQ(folder.read("releases.csv"), text);
}

TEST(release_ledger, knows_the_next_attempt_at_a_round) {
  const temporary_folder folder;
  written(folder);
  release_ledger ledger{folder.path("releases.csv")};
  EXPECT_EQ(ledger.next_attempt(0), 1u);
  EXPECT_EQ(ledger.next_attempt(1), 2u);
  EXPECT_EQ(ledger.next_attempt(2), 0u);
  EXPECT_THROW(ledger.record(three.back()), std::logic_error) << "its noise was used";
  ledger.record({1, 2, 0.1, 1.5, 0.5});
  EXPECT_EQ(ledger.next_attempt(1), 3u);
}

// Wherever a crash cut it: all lines that are whole are there, and the next one stands behind them.
TEST(release_ledger, loses_nothing_but_the_line_that_a_crash_cut) {
  const temporary_folder folder;
  const auto text = written(folder);
  for (size_t bytes = 0; bytes <= text.size(); ++bytes) {
    const auto cut = text.substr(0, bytes);
    const auto lines = static_cast<size_t>(std::count(cut.begin(), cut.end(), '\n'));
    const auto path = folder.write("cut.csv", cut);
    {
      release_ledger ledger{path};
      ASSERT_EQ(ledger.releases().size(), lines < 2 ? 0 : lines - 1) << bytes;
      ledger.record({9, 0, 1, 2, 3});
    }
    const release_ledger again{path};
    EXPECT_EQ(again.releases().back(), (privacy_release{9, 0, 1, 2, 3})) << bytes;
    EXPECT_EQ(again.releases().size(), lines < 2 ? 1 : lines) << bytes;
  }
}

TEST(release_ledger, refuses_what_it_has_not_written) {
  const std::string header = "round,attempt,sampling_rate,noise,epsilon\n";
  for (const std::string line : {"0,0,0.1,1.5", "0,0,0.1,1.5,0.25,", "a,0,0.1,1.5,0.25", "",
                                 "0,0,0.10,1.5,0.25", "-1,0,0.1,1.5,0.25"})
    EXPECT_EQ(refusal_of(header + line + '\n'), failure_code::bad_data) << line;
  EXPECT_EQ(refusal_of("epoch,steps\n1,2\n"), failure_code::bad_data);
  EXPECT_EQ(refusal_of("something else"), failure_code::bad_data);
  EXPECT_THROW(release_ledger{"/nowhere/at/all/releases.csv"}, failure);
}

TEST(key_file, is_made_once_and_nobody_else_may_read_it) {
  const temporary_folder folder;
  const auto path = folder.path("key");
  const auto key = read_or_make_key(path);
  EXPECT_EQ(read_or_make_key(path), key);
  EXPECT_NE(read_or_make_key(folder.path("other")), key);
  EXPECT_NE(fingerprint_of(key), fingerprint_of({}));
  struct stat status {};
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  ASSERT_EQ(::chmod(path.c_str(), 0644), 0);
  EXPECT_THROW(read_or_make_key(path), failure);
}

TEST(key_file, that_holds_no_key_is_refused) {
  const temporary_folder folder;
  const std::string half(32, '0');
  for (const auto& text : {std::string{}, half + '\n', half + half, half + half + "x\n",
                           half + std::string(31, '0') + "g\n"}) {
    const auto path = folder.write("key", text);
    ASSERT_EQ(::chmod(path.c_str(), 0600), 0);
    EXPECT_THROW(read_or_make_key(path), failure) << text;
  }
}

} // namespace
} // namespace troupe::release_ledger_test
