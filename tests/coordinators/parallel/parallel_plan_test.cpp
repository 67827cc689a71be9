// The plan of a run by hand: bytes and work of the shapes that docs/parallel.md tells of, and what it
// warns of.

#include "coordinators/parallel/parallel_plan.hpp"

#include "models/segments/segment_chain.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace troupe::parallel_plan_test {
namespace {

using cuts = std::vector<layer_cut>;
constexpr auto none = layer_cut::none;
constexpr auto outputs = layer_cut::outputs;
constexpr auto inputs = layer_cut::inputs;

constexpr size_t forward = static_cast<size_t>(boundary_way::forward);
constexpr size_t backward = static_cast<size_t>(boundary_way::backward);
constexpr size_t figures = static_cast<size_t>(boundary_way::figures);

const data_shape digits{1024, 0, 784, 10, true, std::vector<size_t>(10, 102)};

/// 784-2048-2048-10 in steps of 256 rows, 4 slices.
job wide_job() {
  job x;
  x.model.hidden = {2048, 2048};
  x.model.cuts = 4;
  x.training.batch_size = 256;
  x.training.slices = 4;
  x.training.replicas = 1;
  return x;
}

parallel_plan plan_on(const job& x, const data_shape& shape, size_t core_count = 64) {
  const auto resolved = resolve(x, shape, core_count);
  EXPECT_TRUE(problems_with_data(resolved, shape).empty());
  return plan_of(resolved, shape, *make_model(resolved, shape), {core_count, {}});
}

/// A linear model of 5 features and 3 targets, in two parts, on 8 rows a step.
parallel_plan linear_plan(layer_cut cut, size_t parts = 2, bool classes = false) {
  job x;
  x.model.kind = classes ? model_kind::softmax_regression : model_kind::linear_regression;
  x.model.cuts = parts;
  x.model.cut = {cut};
  x.training.batch_size = 8;
  x.training.slices = x.training.replicas.emplace(1);
  x.parallel.tensor = parts;
  data_shape shape{8, 0, 5, 3, classes};
  shape.class_counts = {3, 3, 2};
  return plan_on(x, shape);
}

TEST(parallel_plan, two_halves_of_a_wide_network_exchange_one_boundary_forward) {
  auto x = wide_job();
  x.parallel.tensor = 2;
  const auto plan = plan_on(x, digits);
  EXPECT_EQ(plan.parameter_count, 5'824'522u);
  ASSERT_EQ(plan.segments.size(), 2u);
  EXPECT_EQ(plan.segments[0].cuts, (cuts{outputs, inputs}));
  EXPECT_EQ(plan.segments[1].cuts, cuts{none});
  ASSERT_EQ(plan.links.size(), 2u);
  for (const auto& link : plan.links) {
    EXPECT_EQ(link.bytes[forward], 256u * 2048 * 4);
    EXPECT_EQ(link.bytes[backward] + link.bytes[figures], 0u);
  }
  EXPECT_EQ(plan.replicas[0].work, (partition{{0, 4}, {0, 2}, {0, 2}}));
  EXPECT_EQ(plan.replicas[1].work, (partition{{0, 4}, {0, 2}, {2, 4}}));
  // Half of the pair each; what all parts have in common, and the last layer, are the first's.
  const uint64_t half = 4 * (784 * 1024 + 1024 + 1024 * 2048);
  const uint64_t rest = 4 * (2048 + 2048 * 10 + 10);
  EXPECT_EQ(plan.replicas[0].slice_gradient_bytes, half + rest);
  EXPECT_EQ(plan.replicas[1].slice_gradient_bytes, half);
  EXPECT_EQ(plan.replicas[0].parameter_bytes, half + rest);
  EXPECT_EQ(plan.replicas[1].parameter_bytes, half + rest) << "all read what is not cut";
  EXPECT_NEAR(plan.imbalance, 1.001, 0.001);
  EXPECT_EQ(plan.bubble, 0);
  EXPECT_TRUE(plan.warnings.empty());
}

TEST(parallel_plan, stages_exchange_the_rows_between_them) {
  auto x = wide_job();
  x.model.cuts = 1;
  x.parallel.pipeline = 2;
  const auto plan = plan_on(x, digits);
  ASSERT_EQ(plan.links.size(), 2u);
  EXPECT_EQ(plan.links[0].bytes[forward], 256u * 2048 * 4);
  EXPECT_EQ(plan.links[0].bytes[backward], 0u);
  EXPECT_EQ(plan.links[1].bytes[forward], 0u);
  EXPECT_EQ(plan.links[1].bytes[backward], 256u * 2048 * 4);
  EXPECT_DOUBLE_EQ(plan.bubble, 1.0 / 5);
  const double first = 2.0 * 784 * 2048, second = 3.0 * (2048.0 * 2048 + 2048.0 * 10);
  EXPECT_NEAR(plan.stage_shares[0], first / (first + second), 1e-9);
  EXPECT_NEAR(plan.stage_shares[1], second / (first + second), 1e-9);
  EXPECT_NEAR(plan.imbalance, 2 * second / (first + second), 1e-9);
}

// Of N rows, p features, q outputs and T parts each replica sends 2 (T - 1) / T N q numbers to add up
// products that are cut by inputs, forward only; nothing for a regression that is cut by outputs, and
// 4 N words to each of the others for a softmax.
TEST(parallel_plan, linear_models_send_what_their_cut_asks_for) {
  const auto by_inputs = linear_plan(inputs);
  ASSERT_EQ(by_inputs.links.size(), 2u);
  for (const auto& link : by_inputs.links)
    EXPECT_EQ(link.bytes, (std::array<uint64_t, 3>{4 * 8 * 3, 0, 0}));
  const auto in_four = linear_plan(inputs, 4);
  EXPECT_EQ(in_four.links.size(), 12u);
  for (const auto& link : in_four.links) // 2 / 4 of N q numbers to each of the three others
    EXPECT_EQ(link.bytes, (std::array<uint64_t, 3>{4 * 2 * 8 * 3 / 4, 0, 0}));
  EXPECT_TRUE(linear_plan(outputs).links.empty());
  for (const auto& link : linear_plan(outputs, 2, true).links)
    EXPECT_EQ(link.bytes, (std::array<uint64_t, 3>{0, 0, 4 * 4 * 8}));
}

TEST(parallel_plan, work_is_that_of_the_model_but_for_what_all_compute) {
  auto x = wide_job();
  x.parallel.tensor = 4;
  const auto plan = plan_on(x, digits);
  uint64_t sum = 0;
  for (const auto& replica : plan.replicas)
    sum += replica.multiply_adds;
  const uint64_t pair = 256ull * (2 * 784 * 2048 + 3 * 2048 * 2048);
  const uint64_t last = 256ull * 2048 * 10;
  EXPECT_EQ(sum, pair + 4 * 2 * last + last) << "three of four repeat the last layer's two ways";
}

TEST(parallel_plan, one_process_holds_as_many_parameters_whatever_the_split) {
  auto x = wide_job();
  x.optimizer.kind = optimizer_kind::adam;
  const auto whole = plan_on(x, digits);
  x.parallel.tensor = 4;
  const auto split = plan_on(x, digits);
  ASSERT_EQ(whole.processes.size(), 1u);
  for (const auto* plan : {&whole, &split}) {
    const auto& memory = plan->processes[0].memory;
    EXPECT_EQ(memory.of(memory_cause::parameters), 3u * 4 * 5'824'522);
    EXPECT_EQ(memory.of(memory_cause::optimizer), 2u * 4 * 5'824'522);
    EXPECT_EQ(memory.of(memory_cause::sums), 0u);
    EXPECT_EQ(memory.of(memory_cause::kept), 0u);
    EXPECT_EQ(memory.of(memory_cause::data), 4u * 1024 * 785);
    EXPECT_TRUE(plan->process_links.empty());
  }
  EXPECT_EQ(whole.replicas[0].slices_held, 1u);
  EXPECT_EQ(whole.replicas[0].slice_gradient_bytes, 4u * 5'824'522);
  EXPECT_EQ(whole.replicas[0].gradient_bytes(), 3u * 4 * 5'824'522) << "slice 3, 2, and 0 with 1";
  EXPECT_TRUE(whole.links.empty());
  uint64_t gradients = 0;
  for (const auto& replica : split.replicas)
    gradients += replica.slice_gradient_bytes;
  EXPECT_EQ(gradients, whole.replicas[0].slice_gradient_bytes) << "each element is somebody's";
}

TEST(parallel_plan, groups_have_slices_of_their_own_and_no_links_between_them) {
  auto x = wide_job();
  x.parallel.tensor = x.parallel.pipeline = 2;
  x.parallel.data = 2;
  x.training.replicas.reset();
  const auto plan = plan_on(x, digits);
  ASSERT_EQ(plan.replicas.size(), 8u);
  EXPECT_EQ(plan.replicas[0].work.slices, (index_range{0, 2}));
  EXPECT_EQ(plan.replicas[7].work, (partition{{2, 4}, {1, 2}, {2, 4}}));
  EXPECT_DOUBLE_EQ(plan.bubble, 1.0 / 3);
  for (const auto& link : plan.links)
    EXPECT_EQ(link.from / 4, link.to / 4);
  EXPECT_EQ(plan.links.front().bytes, plan.links[plan.links.size() / 2].bytes);
}

TEST(parallel_plan, a_stage_may_hold_what_it_has_in_flight_and_what_came_early) {
  auto x = wide_job();
  x.model.hidden = {1024, 1024, 1024, 1024};
  x.model.cuts = 1;
  x.training.slices = 8;
  x.parallel.pipeline = 4;
  x.parallel.stages = {1, 1, 1, 2};
  const auto held = [&] {
    std::vector<size_t> result;
    for (const auto& replica : plan_on(x, digits).replicas)
      result.push_back(replica.slices_held);
    return result;
  };
  EXPECT_EQ(held(), (std::vector<size_t>{4, 7, 6, 5}));
  x.parallel.schedule = pipeline_schedule::gpipe;
  EXPECT_EQ(held(), (std::vector<size_t>{8, 8, 8, 8}));
}

TEST(parallel_plan, what_is_slow_is_warned_of) {
  struct warned {
    std::function<void(job&)> change;
    std::vector<std::string> warnings;
    size_t core_count = 64;
  };
  const std::vector<warned> cases{
    {[](job& x) { x.parallel.pipeline = 2; },
     {"a stage has 2 times the mean work, and the others wait for it"}},
    {[](job& x) {
       x.model.cuts = 1;
       x.model.hidden = {784, 784};
       x.parallel.pipeline = 3;
       x.training.slices = 2;
     },
     {"a stage has 1.8 times the mean work, and the others wait for it",
      "2 slices for 3 stages: a stage waits for 50 % of a step"}},
    {[](job& x) { x.model.hidden = {64}, x.training.batch_size = 32; },
     {"a part of 16 units is slow to compute in slices of 8 rows"}},
    {[](job& x) { x.parallel.tensor = 2, x.training.replicas = 6; },
     {"4 replicas have nothing to do: 4 slices for 6 groups"}},
    {[](job& x) { x.parallel.tensor = 4; }, {"4 replicas on 2 threads take turns"}, 2},
    {[](job& x) { x.parallel.tensor = 4, x.runtime.threads = 3; },
     {"4 replicas on 3 threads take turns"}}};
  for (const auto& [change, warnings, core_count] : cases) {
    auto x = wide_job();
    change(x);
    EXPECT_EQ(plan_on(x, digits, core_count).warnings, warnings);
  }
}

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

} // namespace
} // namespace troupe::parallel_plan_test
