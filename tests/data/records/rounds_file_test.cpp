#include "data/records/rounds_file.hpp"

#include "data/text/failure.hpp"
#include "tests/support/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <sstream>

namespace troupe::rounds_file_test {

namespace {

round_record some_round(uint64_t number) {
  round_record result{.round = number, .invited = 10, .dropped = 3, .counted = 7, .rows = 70};
  result.loss = 0.5 + static_cast<double>(number);
  result.losses = {0.1, 0.25, 0.5, 2};
  result.norms = {1, 2, 3, 4};
  return result;
}

std::string text_of(const std::string& path) {
  std::ifstream file{path, std::ios::binary};
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

} // namespace

TEST(rounds_file, is_a_table_of_what_was_told) {
  round_record nobody{.round = 2, .invited = 4, .dropped = 4, .is_void = true};
  const auto text = rounds_text({some_round(1), nobody});
  EXPECT_EQ(text.substr(text.find('\n') + 1),
            "1,10,3,0,0,0,7,70,1.5,0.1,0.25,0.5,2,1,2,3,4,0,\n2,4,4,0,0,0,0,0,,,,,,,,,,1,\n");
  EXPECT_EQ(text.substr(0, 21), "round,invited,dropped");
}

TEST(rounds_file, tells_of_a_private_round_its_epsilon_alone) {
  auto round = some_round(7);
  round.epsilon = 1.5;
  const auto text = rounds_text({round});
  const auto header = text.substr(0, text.find('\n'));
  const auto line = text.substr(text.find('\n') + 1);
  EXPECT_EQ(line, "7,,,,,,,,,,,,,,,,,0,1.5\n");
  EXPECT_EQ(std::ranges::count(header, ','), std::ranges::count(line, ','));
}

TEST(rounds_file, is_read_as_it_was_written) {
  std::vector<round_record> rounds{some_round(1),
                                   {.round = 2, .invited = 4, .dropped = 4, .is_void = true}};
  EXPECT_EQ(read_rounds(rounds_text(rounds), "x"), rounds);
  EXPECT_EQ(read_rounds(rounds_text(rounds) + "3,10,3", "x"), rounds) << "half of a line";
  const std::vector<round_record> hidden{{.round = 7, .epsilon = 1.5}};
  EXPECT_EQ(read_rounds(rounds_text(hidden), "x"), hidden);
  EXPECT_EQ(read_rounds(rounds_text({}), "x"), std::vector<round_record>{});
}

TEST(rounds_file, what_is_none_is_refused_with_its_line) {
  const auto header = rounds_text({});
  for (const auto& [text, where] : {std::pair{std::string{"epoch,steps\n"}, "x:1"},
                                    {header + "1,2,3\n", "x:2"},
                                    {header + "1,a,3,0,0,0,7,70,1,1,1,1,2,1,2,3,4,0,\n", "x:2"},
                                    {rounds_text({some_round(1)}) + "\n", "x:3"}})
    try {
      read_rounds(text, "x");
      ADD_FAILURE() << text;
    } catch (const failure& error) {
      EXPECT_EQ(error.where(), where) << text;
      EXPECT_EQ(error.code(), failure_code::bad_data);
    }
}

TEST(rounds_file, grows_and_takes_back_what_is_done_once_more) {
  const temporary_folder folder;
  const auto path = folder.path("rounds.csv");
  rounds_writer out{path, 0};
  EXPECT_EQ(text_of(path), rounds_text({}));
  out.add({some_round(1), some_round(2)});
  out.add({some_round(3)});
  EXPECT_EQ(text_of(path), rounds_text({some_round(1), some_round(2), some_round(3)}));
  out.add({some_round(2)});
  EXPECT_EQ(text_of(path), rounds_text({some_round(1), some_round(2)}));
}

TEST(rounds_file, goes_on_from_the_version_of_a_checkpoint) {
  const temporary_folder folder;
  const auto path = folder.path("rounds.csv");
  rounds_writer{path, 0}.add({some_round(1), some_round(2), some_round(3)});
  std::ofstream{path, std::ios::app} << "4,10,3"; // the disk was full, or the machine stopped
  rounds_writer again{path, 2};
  EXPECT_EQ(text_of(path), rounds_text({some_round(1), some_round(2)}));
  again.add({some_round(3)});
  EXPECT_EQ(text_of(path), rounds_text({some_round(1), some_round(2), some_round(3)}));
  rounds_writer anew{path, 0};
  EXPECT_EQ(text_of(path), rounds_text({}));
}

} // namespace troupe::rounds_file_test
