// The record of an asynchronous run's decisions: what is written is read again, and what is no record is refused.

#include "data/records/sequence_file.hpp"

#include "data/text/failure.hpp"
#include "tests/support/failure_of.hpp"
#include "tests/support/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

namespace troupe::sequence_file_test {
namespace {

using enum decision_kind;

/// The text of what `action` fails with.
template <class Action>
std::string told_by(const Action& action) {
  return test::failure_of(action).what();
}

struct record {
  temporary_folder folder;
  std::string path = folder.path("sequence.txt");

  std::string text() const {
    std::ifstream in{path, std::ios::binary};
    return {std::istreambuf_iterator<char>{in}, {}};
  }
  void write(const std::string& lines) const {
    std::ofstream{path, std::ios::binary} << "troupe sequence 1\n" << lines;
  }
};

/// Two steps, and work that is under way.
const recorded_sequence two_steps{{begin, 0}, {give, 1, 0}, {give, 2, 1}, {take, 2, 0, 0.5},
                                  {close},    {late, 1},    {give, 3, 2}, {give, 4, 3}};

TEST(sequence_file, what_is_written_is_read) {
  const record x;
  {
    sequence_writer out{x.path, 0};
    for (size_t i = 1; i < two_steps.size(); ++i)
      out.add(two_steps[i]);
    out.flush();
    EXPECT_EQ(read_sequence(x.path), two_steps);
    out.add({drop, 3});
    out.add({pass, 2});
  }
  EXPECT_EQ(x.text(), "troupe sequence 1\nbegin 0\ngive 1 0\ngive 2 1\ntake 2 0.5\nclose\nlate 1\n"
                      "give 3 2\ngive 4 3\ndrop 3\npass 2\n");
}

TEST(sequence_file, a_run_that_goes_on_forgets_what_is_beyond_its_checkpoint) {
  const record x;
  {
    sequence_writer out{x.path, 0};
    for (size_t i = 1; i < two_steps.size(); ++i)
      out.add(two_steps[i]);
  }
  {
    sequence_writer out{x.path, 2};
    out.add({give, 1, 2});
    out.add({take, 1});
    out.add({close});
  }
  auto expected = two_steps;
  expected.resize(6);
  for (const recorded_decision& line :
       {recorded_decision{begin, 2}, {give, 1, 2}, {take, 1}, {close}})
    expected.push_back(line);
  EXPECT_EQ(read_sequence(x.path), expected);
  EXPECT_NE(told_by([&] {
              sequence_writer{x.path, 1};
            }).find("does not reach step 1"),
            std::string::npos)
    << "work was under way";
  EXPECT_NE(told_by([&] {
              sequence_writer{x.path, 4};
            }).find("does not reach step 4"),
            std::string::npos);
  sequence_writer anew{x.path, 0};
  EXPECT_EQ(read_sequence(x.path), (recorded_sequence{{begin, 0}}));
}

TEST(sequence_file, what_a_loss_completed_is_not_in_a_checkpoint_of_the_version_before) {
  const record x;
  const recorded_sequence kept{{begin, 0}, {give, 1, 0}, {give, 2, 1}, {take, 1}, {late, 2}};
  {
    sequence_writer out{x.path, 0};
    for (size_t i = 1; i < kept.size(); ++i)
      out.add(kept[i]);
    out.add({loss});
  }
  EXPECT_TRUE(x.text().ends_with("late 2\nloss\n"));
  sequence_writer out{x.path, 2};
  auto expected = kept;
  expected.push_back({begin, 2});
  EXPECT_EQ(read_sequence(x.path), expected);
}

TEST(sequence_file, a_last_line_that_was_cut_off_does_not_count) {
  const record x;
  x.write("begin 0\ngive 1 0\ntake 1 1\nclose\ngive 2");
  EXPECT_EQ(read_sequence(x.path).size(), 4u);
}

TEST(sequence_file, what_is_no_record_is_refused_with_its_line) {
  const record x;
  EXPECT_THROW(read_sequence(x.path), failure);
  for (const auto& [lines, line] : std::vector<std::pair<std::string, std::string>>{
         {"give 1 0\n", "line 2"},
         {"begin 1\n", "line 2"},
         {"begin 0\ngive 1\n", "line 3"},
         {"begin 0\ngive 1 0 \n", "line 3"},
         {"begin 0\ngive -1 0\n", "line 3"},
         {"begin 0\ngive 1 0\ngive 1 1\n", "line 4"},
         {"begin 0\ntake 1 1\n", "line 3"},
         {"begin 0\ngive 1 0\ntake 1 0\n", "line 4"},
         {"begin 0\ngive 1 0\ntake 1 1.5\n", "line 4"},
         {"begin 0\ngive 1 0\ntake 1 nan\n", "line 4"},
         {"begin 0\ngive 1 0\ntake 1 1\nlate 1\n", "line 5"},
         {"begin 0\ngive 1 0\ntake 1 1\ngive 2 0\ntake 2 1\n", "line 6"},
         {"begin 0\ngive 1 1\ntake 1 1\ngive 2 0\nlate 2\ngive 3 1\nlate 3\n", "line 8"},
         {"begin 0\nclose 1\n", "line 3"},
         {"begin 0\nloss 1\n", "line 3"},
         {"begin 0\nbegin 3\n", "line 3"},
         {"begin 0\ngo 1\n", "line 3"},
         {"begin 0\n\n", "line 3"}}) {
    x.write(lines);
    const auto told = told_by([&] { read_sequence(x.path); });
    EXPECT_NE(told.find(line), std::string::npos) << lines << told;
  }
  std::ofstream{x.path} << "something\n";
  EXPECT_NE(told_by([&] { read_sequence(x.path); }).find("line 1"), std::string::npos);
}

} // namespace
} // namespace troupe::sequence_file_test
