#include "coordinators/parallel/memory_check.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace troupe::memory_check_test {

namespace {

constexpr uint64_t mebibyte = uint64_t{1} << 20;
constexpr auto any = std::numeric_limits<uint64_t>::max();
constexpr memory_room boundless{any, any, any};

process_plan taking(const std::string& name, uint64_t mebibytes,
                    std::optional<uint64_t> limit = {}) {
  process_plan result{name, {}, {}, 0, {}, limit};
  result.memory.add(memory_cause::parameters, mebibytes * mebibyte);
  return result;
}

/// Of two nodes that take 100 and 300 MiB.
std::string problem(run_place where, const memory_room& room, std::optional<uint64_t> stated = {}) {
  const auto found = memory_problem({taking("a", 100), taking("b", 300, stated)}, where, room);
  return found ? found->why : "";
}

run_place place_of(size_t own) {
  run_place result;
  result.own = own;
  return result;
}

} // namespace

TEST(memory_check, every_node_is_held_to_what_is_stated_of_it) {
  EXPECT_EQ(problem(place_of(0), boundless, 300 * mebibyte), "");
  for (const std::optional<size_t> own : {std::optional<size_t>{0}, {1}, {}}) {
    run_place where;
    where.own = own;
    EXPECT_EQ(problem(where, boundless, 300 * mebibyte - 1),
              "node 'b' takes about 300 MiB of memory, most of it, 300 MiB, for parameters; "
              "node.memory says 300 MiB");
  }
}

TEST(memory_check, this_process_is_held_to_what_it_may_still_take) {
  auto room = boundless;
  room.machine = 200 * mebibyte;
  EXPECT_EQ(problem(place_of(0), room), "");
  EXPECT_TRUE(problem(place_of(1), room).ends_with("; 200 MiB are available"));
  room.groups = 150 * mebibyte;
  EXPECT_TRUE(problem(place_of(1), room).ends_with("; 150 MiB are left to its control group"));
  run_place elsewhere;
  elsewhere.own.reset();
  EXPECT_EQ(problem(elsewhere, room), "");
}

TEST(memory_check, nodes_of_one_machine_share_it_but_not_their_address_spaces) {
  auto where = place_of(0);
  where.has_all_nodes = true;
  auto room = boundless;
  room.machine = 399 * mebibyte;
  EXPECT_EQ(problem(where, room).substr(0, 36), "all nodes together take about 400 Mi");
  room.machine = 400 * mebibyte;
  room.address_space = 100 * mebibyte;
  EXPECT_EQ(problem(where, room), "");
}

TEST(memory_check, threads_that_are_yet_to_begin_take_address_space) {
  auto where = place_of(0);
  auto room = boundless;
  room.address_space = address_bytes_of_threads(4) + 100 * mebibyte;
  where.new_threads = 4;
  EXPECT_EQ(problem(where, room), "");
  where.new_threads = 5;
  EXPECT_TRUE(problem(where, room).starts_with("node 'a' takes"));
  where.new_threads.reset();
  room.address_space = 100 * mebibyte;
  EXPECT_EQ(problem(where, room), "");
}

TEST(memory_check, a_single_process_is_called_training) {
  const auto found = memory_problem({taking("", 100)}, {}, {1, 1, 1});
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->why.starts_with("training takes about 100 MiB")) << found->why;
}

TEST(memory_check, what_cannot_be_counted_is_refused_whatever_there_is) {
  const data_shape shape{1000, 0, 64, 10, true};
  auto x = resolve({}, shape, 2);
  EXPECT_EQ(countless_problem(x, shape, boundless), std::nullopt);
  x.model.kind = model_kind::neural_network;
  x.model.hidden = {10'000'000, 10'000'000};
  ASSERT_TRUE(countless_problem(x, shape, boundless));
  EXPECT_EQ(countless_problem(x, shape, boundless)->key, "model.hidden");
}

TEST(memory_check, whoever_cannot_say_its_place_is_the_first) {
  cluster_plan cluster;
  cluster.nodes.resize(2);
  cluster.nodes[0].name = "a";
  cluster.nodes[1].name = "b";
  EXPECT_EQ(place_in(cluster, "b").own, 1u);
  EXPECT_EQ(place_in(cluster, "c").own, 0u);
}

} // namespace troupe::memory_check_test
