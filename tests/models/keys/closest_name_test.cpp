#include "models/keys/closest_name.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::closest_name_test {
namespace {

TEST(closest_name, distances_count_edits) {
  EXPECT_EQ(edit_distance("", "abc"), 3u);
  EXPECT_EQ(edit_distance("abc", ""), 3u);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3u);
  EXPECT_EQ(edit_distance("widht", "width"), 1u);
  EXPECT_EQ(edit_distance("same", "same"), 0u);
}

TEST(closest_name, only_close_names_are_offered) {
  std::vector<std::string> names{"height", "width", "Weight"};
  EXPECT_EQ(closest_name("weight", names), "Weight");
  EXPECT_EQ(closest_name("widt", names), "width");
  EXPECT_EQ(closest_name("heigth", names), "height");
  EXPECT_EQ(closest_name("colour", names), "");
  EXPECT_EQ(closest_name("x", {}), "");
  EXPECT_EQ(closest_name("y", std::vector<std::string>{"p", "Y"}), "Y")
    << "and not what shares no letter";
}

// Measuring stops where a name is too far; swaps of neighbours reach over the row it stops at.
TEST(closest_name, what_stops_early_finds_what_whole_distances_find) {
  std::mt19937 generator{1};
  const auto word = [&] {
    std::string result(generator() % 10, 'a');
    for (auto& letter : result)
      letter = static_cast<char>('a' + generator() % 3);
    return result;
  };
  for (int i = 0; i < 20000; ++i) {
    const std::string wanted = word();
    const std::vector<std::string> names{word(), word(), word()};
    std::string_view best;
    size_t best_distance = wanted.size() < 2 ? 1 : std::max<size_t>(1, wanted.size() / 3) + 1;
    for (const auto& name : names)
      if (const size_t distance = edit_distance(wanted, name); distance < best_distance) {
        best = name;
        best_distance = distance;
      }
    ASSERT_EQ(closest_name(wanted, names), best) << wanted << " " << testing::PrintToString(names);
  }
}

TEST(did_you_mean, nearest_word_is_suggested_when_one_is_near) {
  EXPECT_EQ(did_you_mean("epoch", {"steps", "epochs"}), "did you mean 'epochs'?");
  EXPECT_EQ(did_you_mean("epoch", {"patience", "slices"}), "");
  EXPECT_EQ(did_you_mean("", {"steps"}), "");
}

} // namespace
} // namespace troupe::closest_name_test
