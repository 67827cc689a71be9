#include "coordinators/links/link_watch.hpp"

#include <gtest/gtest.h>

namespace troupe::link_watch_test {
namespace {

using std::chrono::milliseconds;

moment at(int ms) {
  return moment{} + std::chrono::hours{1} + milliseconds{ms};
}

/// As the process at this end sees its link with `peer`.
link_report report(const std::string& peer, uint64_t sent, uint64_t seen, uint64_t came,
                   uint64_t waiting = 0) {
  return {peer, 7, sent, seen, waiting, 7, came};
}

struct link_watch_of_two : testing::Test {
  void left(int ms, uint64_t sent, uint64_t seen, uint64_t waiting = 0) {
    watch.on_report("left", {report("right", sent, seen, 0, waiting)}, at(ms));
  }
  void right(int ms, uint64_t came) {
    watch.on_report("right", {report("left", 0, 0, came)}, at(ms));
  }
  link_figures figures(int ms) const {
    const auto all = watch.figures(at(ms), 10);
    return all.empty() ? link_figures{} : all.front();
  }
  link_watch watch;
};

TEST_F(link_watch_of_two, what_came_tells_how_fast_a_link_is) {
  for (int second = 0; second <= 8; ++second) {
    left(second * 1'000, second * 500, second * 500);
    right(second * 1'000, second * 500);
  }
  const auto x = figures(8'000);
  EXPECT_EQ(x.from, "left");
  EXPECT_EQ(x.to, "right");
  EXPECT_EQ(x.sent, 4'000u);
  EXPECT_EQ(x.came, 4'000u);
  EXPECT_DOUBLE_EQ(x.bytes_per_second, 500);
  EXPECT_EQ(x.still, milliseconds{0});
  EXPECT_FALSE(is_cut(x));
}

TEST_F(link_watch_of_two, a_difference_alone_says_nothing_and_one_that_stays_does) {
  left(0, 500, 500);
  right(10, 500);
  left(1'000, 900, 500);
  EXPECT_FALSE(is_cut(figures(1'000))) << "the other end's report is a second old";
  right(1'010, 500);
  EXPECT_FALSE(is_cut(figures(2'100)));
  EXPECT_TRUE(is_cut(figures(2'200)));
  right(2'300, 600);
  EXPECT_FALSE(is_cut(figures(2'400))) << "slow, and yet something comes";
  right(2'500, 900);
  EXPECT_FALSE(is_cut(figures(9'000))) << "all has come";
}

TEST_F(link_watch_of_two, without_credit_the_way_back_is_to_blame) {
  left(0, 900, 500, 3);
  right(0, 900);
  EXPECT_FALSE(lacks_credit(figures(1'000)));
  EXPECT_TRUE(lacks_credit(figures(1'200)));
  left(1'300, 900, 600, 3);
  EXPECT_FALSE(lacks_credit(figures(1'400))) << "it was acknowledged";
  left(1'500, 900, 900, 0);
  EXPECT_FALSE(lacks_credit(figures(9'000)));
}

TEST_F(link_watch_of_two, ends_that_speak_of_different_links_are_not_compared) {
  left(0, 900, 500);
  watch.on_report("right", {{"left", 0, 0, 0, 0, 6, 100}}, at(0));
  EXPECT_TRUE(watch.figures(at(5'000), 10).empty());
  right(5'100, 900);
  EXPECT_FALSE(watch.figures(at(5'200), 10).empty());
}

TEST_F(link_watch_of_two, who_is_lost_has_no_links) {
  left(0, 900, 500);
  right(0, 900);
  watch.on_lost("right");
  EXPECT_TRUE(watch.figures(at(0), 10).empty());
}

TEST_F(link_watch_of_two, of_many_the_still_ones_are_named_first_and_then_the_busiest) {
  for (int second = 0; second <= 3; ++second)
    for (uint64_t i = 0; i < 6; ++i) {
      const auto name = "n" + std::to_string(i);
      const uint64_t came = i == 2 ? 100 : 100 + 100 * i * second;
      watch.on_report("hub", {report(name, i == 2 ? 900 : came, came, 0)}, at(second * 1'000));
      watch.on_report(name, {report("hub", 0, 0, came)}, at(second * 1'000));
    }
  std::vector<std::string> names;
  for (const auto& x : watch.figures(at(3'000), 3))
    names.push_back(x.to);
  EXPECT_EQ(names, (std::vector<std::string>{"n2", "n4", "n5"}));
}

} // namespace
} // namespace troupe::link_watch_test
