// What a shard that keeps the book says of replicas.

#include "troupe/tests/support/shard_alone.hpp"

#include <chrono>

namespace troupe::shard_statistics_test {

using test::shard_alone;

TEST_F(shard_alone, says_who_came_last_by_name) {
  everybody_.number = 2;
  everybody_.replicas[0] = {everybody_.replicas[0].actor, {0, 1}, {"left", 0}};
  everybody_.replicas.push_back({everybody_.replicas[0].actor, {1, 2}, {"right", 3}});
  send(everybody_);
  send(work(0, {0, 1}, 8, 0));
  pass(std::chrono::milliseconds{30});
  auto late = work(0, {1, 2}, 4, 1);
  late.computed = std::chrono::milliseconds{20};
  send(late);
  const auto figures = ask_for_figures();
  EXPECT_EQ(figures.barrier_count, 1u);
  ASSERT_GE(figures.replicas.size(), 2u);
  const auto& right = figures.replicas.back();
  EXPECT_EQ(right.who, (replica_name{"right", 3}));
  EXPECT_EQ(right.figures.last_count, 1u);
  EXPECT_EQ(right.figures.last_by, std::chrono::milliseconds{30});
  EXPECT_EQ(right.figures.computed, std::chrono::milliseconds{20});
  const auto& left = figures.replicas[figures.replicas.size() - 2];
  EXPECT_EQ(left.who, (replica_name{"left", 0}));
  EXPECT_EQ(left.figures.waited, std::chrono::milliseconds{30});
  send(work(1, {0, 2}, 8, 0));
  EXPECT_EQ(ask_for_figures().barrier_count, 2u);
}

} // namespace troupe::shard_statistics_test
