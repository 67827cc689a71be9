// What processes hold and send, by hand: the shapes of docs/parallel.md on several nodes.

#include "coordinators/parallel/parallel_plan.hpp"

#include <gtest/gtest.h>

namespace troupe::process_plan_test {
namespace {

constexpr size_t forward = static_cast<size_t>(boundary_way::forward);
constexpr size_t backward = static_cast<size_t>(boundary_way::backward);
constexpr size_t figures = static_cast<size_t>(boundary_way::figures);

/// Of 784-2048-2048-10, in working order: four parts of the pair, the last layer with the first of them,
/// and the bias that all parts have in common.
constexpr uint64_t part = 784 * 512 + 512 + 512 * 2048;
constexpr uint64_t last_layer = 2048 * 10 + 10;
constexpr uint64_t common = 2048;
constexpr uint64_t all = 4 * part + last_layer + common;
constexpr uint64_t half = 711 * 4096; ///< of 1,423 blocks
constexpr uint64_t near = 713 * 4096; ///< whole blocks of the first two parts and the last layer

const data_shape digits{1024, 0, 784, 10, true, std::vector<size_t>(10, 102)};

/// Steps of 256 rows, 4 slices.
job wide_job() {
  job x;
  x.model.hidden = {2048, 2048};
  x.model.cuts = 4;
  x.training.batch_size = 256;
  x.training.slices = 4;
  return x;
}

cluster_node node(const std::string& name, size_t replicas, size_t shards) {
  cluster_node result;
  result.name = name;
  result.replica_count = replicas;
  result.shard_count = shards;
  return result;
}

parallel_plan plan_on(job x, const data_shape& shape, const std::vector<cluster_node>& nodes) {
  x.training.replicas.emplace(0);
  for (const auto& one : nodes)
    *x.training.replicas += one.replica_count;
  const auto resolved = resolve(x, shape, 64);
  return plan_of(resolved, shape, *make_model(resolved, shape), {64, nodes});
}

const std::vector<cluster_node> two{node("a", 1, 1), node("b", 1, 1)};

TEST(process_plan, two_halves_on_two_nodes_send_a_boundary_and_what_lies_beyond_the_middle) {
  static_assert(all == 5'824'522);
  auto x = wide_job();
  x.parallel.tensor = 2;
  const auto plan = plan_on(x, digits, two);
  ASSERT_EQ(plan.processes.size(), 2u);
  EXPECT_EQ(plan.processes[0].replicas, std::vector<size_t>{0});
  EXPECT_EQ(plan.processes[0].spans, (std::vector<index_range>{{0, near}}));
  // a has parts 0 and 1 and the last layer, a little more than its span; b its own two parts.
  constexpr uint64_t beyond = 2 * part + last_layer - near;
  EXPECT_EQ(plan.processes[0].window, near + beyond + common);
  EXPECT_EQ(plan.processes[1].window, 1 + all - near + last_layer) << "and a's first element";
  ASSERT_EQ(plan.process_links.size(), 2u);
  const auto& there = plan.process_links[0];
  const auto& back = plan.process_links[1];
  EXPECT_EQ(there.gradients, 4 * (beyond + common)) << "one sum of all slices";
  EXPECT_EQ(back.gradients, 0u) << "all that b computes is its own";
  EXPECT_EQ(there.parameters, 4 * (1 + last_layer)) << "each has the last layer whole";
  EXPECT_EQ(back.parameters, 4 * (beyond + common));
  for (const auto& link : plan.process_links)
    EXPECT_EQ(link.boundaries, (std::array<uint64_t, 3>{4u * 256 * 2048, 0, 0}));
}

TEST(process_plan, memory_is_told_by_cause) {
  auto x = wide_job();
  x.parallel.tensor = 2;
  x.optimizer.kind = optimizer_kind::adam;
  x.optimizer.clip_norm = 1;
  x.checkpoint.every_steps = 10;
  const auto plan = plan_on(x, digits, two);
  const auto& a = plan.processes[0];
  EXPECT_EQ(a.memory.of(memory_cause::parameters), 3 * 4 * a.window);
  EXPECT_EQ(a.memory.of(memory_cause::optimizer), 2 * 4 * near);
  EXPECT_EQ(a.memory.of(memory_cause::gradients), plan.replicas[0].gradient_bytes());
  EXPECT_EQ(a.memory.of(memory_cause::activations), plan.replicas[0].activation_bytes());
  EXPECT_EQ(a.memory.of(memory_cause::sums), 4 * near) << "nothing comes; clipping needs the sum";
  EXPECT_EQ(plan.processes[1].memory.of(memory_cause::sums),
            plan.process_links[0].gradients + 4 * (all - near));
  EXPECT_EQ(a.memory.of(memory_cause::checkpoints), 3 * 2 * 4 * near + 2 * 4 * a.window);
  EXPECT_EQ(a.memory.of(memory_cause::data), 4u * 1024 * 785);
  // Sums of 64 rows of 2,048 units, of each slice; and one that comes from b.
  EXPECT_EQ(a.memory.of(memory_cause::kept), 4u * 4 * 64 * 2048);
  EXPECT_EQ(a.memory.of(memory_cause::boundaries), plan.replicas[0].slices_held * 4 * 64 * 2048);
  EXPECT_EQ(plan.process_links[0].block_sums, 8u * 713);
  uint64_t sum = 0;
  for (const auto bytes : a.memory.bytes)
    sum += bytes;
  EXPECT_EQ(a.memory.sum(), sum);
}

TEST(process_plan, copies_of_its_own_spans_and_of_those_it_is_a_deputy_of_are_kept) {
  auto x = wide_job();
  x.training.epochs = 100;
  x.training.replicas.emplace(3);
  const auto copies = [&](const char* optimizer, cluster_recovery recovery = {},
                          const std::vector<cluster_node>& nodes = two) {
    x.optimizer.kind =
      std::string{optimizer} == "adam" ? optimizer_kind::adam : optimizer_kind::sgd;
    const auto resolved = resolve(x, digits, 64);
    const auto plan =
      plan_of(resolved, digits, *make_model(resolved, digits), {64, nodes, recovery});
    return plan.processes[0].memory.of(memory_cause::copies);
  };
  EXPECT_EQ(copies("adam"), 3u * 3 * 4 * all) << "three versions of parameters and two slots";
  EXPECT_EQ(copies("sgd"), 3u * 1 * 4 * all);
  EXPECT_EQ(copies("adam", {0}), 0u);
  EXPECT_EQ(copies("adam", {1, 200}), 2u * 3 * 4 * all) << "more are not made";
  EXPECT_EQ(copies("adam", {1}, {node("a", 1, 1), node("b", 1, 0)}), 0u) << "a has all";
  const std::vector<cluster_node> three{node("a", 1, 1), node("b", 1, 1), node("c", 1, 1)};
  EXPECT_EQ(copies("sgd", {2}, three), 3u * 4 * all) << "its own and both others";
  x.parallel.tensor = 2;
  x.training.replicas.emplace(2);
  EXPECT_EQ(copies("adam"), 0u) << "of a split model";
}

TEST(process_plan, boundaries_of_an_evaluation_are_kept_too) {
  auto x = wide_job();
  x.parallel.tensor = 2;
  auto shape = digits;
  const auto kept = [&] {
    return plan_on(x, shape, two).processes[0].memory.of(memory_cause::kept);
  };
  const auto of_step = kept();
  shape.test_row_count = 512;
  EXPECT_EQ(kept(), of_step + 2u * 4 * 256 * 2048) << "two chunks of 256 rows, forward only";
}

TEST(process_plan, data_parallel_nodes_send_gradients_and_parameters_as_ever) {
  const auto plan = plan_on(wide_job(), digits, two);
  ASSERT_EQ(plan.process_links.size(), 2u);
  EXPECT_EQ(plan.process_links[0].gradients, 4 * (all - half));
  EXPECT_EQ(plan.process_links[0].parameters, 4 * half);
  EXPECT_EQ(plan.process_links[0].sum() + plan.process_links[1].sum(), 2 * 4 * all);
  EXPECT_EQ(plan.processes[0].memory.of(memory_cause::sums), 4 * half) << "b's, of a's span";
}

TEST(process_plan, a_server_sends_all_and_hears_of_no_version) {
  const auto plan = plan_on(wide_job(), digits, {node("s", 0, 1), node("w", 1, 0)});
  ASSERT_EQ(plan.process_links.size(), 2u);
  EXPECT_EQ(plan.process_links[0].parameters, 4 * all);
  EXPECT_EQ(plan.process_links[0].gradients, 0u);
  EXPECT_EQ(plan.process_links[1].gradients, 4 * all);
  EXPECT_EQ(plan.process_links[1].parameters, 0u);
  EXPECT_EQ(plan.processes[1].memory.of(memory_cause::parameters), 2 * 4 * all);
}

// Slices 0-2 are two nodes of the tree, and so is slice 3.
TEST(process_plan, a_process_sends_a_sum_for_each_node_of_the_tree) {
  const auto plan = plan_on(wide_job(), digits, {node("a", 3, 1), node("b", 1, 1)});
  EXPECT_EQ(plan.process_links[0].gradients, 2 * 4 * (all - half));
  EXPECT_EQ(plan.process_links[1].gradients, 4 * half);
  uint64_t of_replicas = 0;
  for (size_t rank = 0; rank < 3; ++rank)
    of_replicas += plan.replicas[rank].gradient_bytes();
  EXPECT_EQ(plan.processes[0].memory.of(memory_cause::gradients), of_replicas + 4 * all)
    << "whoever adds two has memory for the sum";
}

TEST(process_plan, stages_hear_that_others_are_announced_by_a_note) {
  auto x = wide_job();
  x.model.cuts = 1;
  x.parallel.pipeline = 2;
  const auto plan = plan_on(x, digits, {node("a", 1, 0), node("b", 1, 0), node("s", 0, 2)});
  const auto& boundaries = plan.process_links;
  ASSERT_EQ(boundaries.size(), 6u);
  EXPECT_EQ(boundaries[0].boundaries[forward], 4u * 256 * 2048);
  EXPECT_EQ(boundaries[2].boundaries[backward], 4u * 256 * 2048);
  EXPECT_EQ(boundaries[0].parameters, 0u);
  constexpr uint64_t first = 784 * 2048 + 2048;
  EXPECT_EQ(plan.processes[0].window, first + 1);
  EXPECT_EQ(plan.processes[1].window, 1 + all - first);
  EXPECT_EQ(boundaries[4].parameters, 4 * (first + 1)) << "of the second span a needs nothing";
  EXPECT_EQ(boundaries[5].parameters, 4 * (1 + all - first));
  EXPECT_EQ(boundaries[1].gradients, 4 * first);
  EXPECT_EQ(boundaries[3].gradients, 4 * (all - first));
}

// Four parts of a softmax on two nodes of two replicas: figures go once to each process.
TEST(process_plan, what_several_of_a_process_take_crosses_the_wire_once) {
  job x;
  x.model.kind = model_kind::softmax_regression;
  x.model.cuts = 4;
  x.model.cut = {layer_cut::outputs};
  x.training.batch_size = 8;
  x.training.slices = 1;
  x.parallel.tensor = 4;
  const data_shape shape{8, 0, 5, 4, true, {2, 2, 2, 2}};
  const auto plan = plan_on(x, shape, {node("a", 2, 1), node("b", 2, 0)});
  EXPECT_EQ(plan.links.size(), 12u);
  ASSERT_EQ(plan.process_links.size(), 2u);
  EXPECT_EQ(plan.process_links[0].boundaries[figures], 2u * 16 * 8);
  EXPECT_EQ(plan.process_links[1].boundaries[figures], 2u * 16 * 8);
}

/// Six layers of 100 units, each a segment. Steps of 60 rows.
const data_shape hundreds{600, 0, 100, 100, false, {}};

job sharded_job(size_t slices) {
  job x;
  x.model.hidden = {100, 100, 100, 100, 100};
  x.model.cuts = 1;
  x.training.batch_size = 60;
  x.training.slices = slices;
  x.parallel.sharded = true;
  return x;
}

// Six layers of 100 units, each a segment, on three nodes, two of which own half of the blocks. Of a
// segment that is not all its own a node fetches what others have, twice, but the last two such once.
TEST(process_plan, sharded_nodes_fetch_segments_twice_but_for_the_last_two) {
  const auto plan =
    plan_on(sharded_job(3), hundreds, {node("a", 1, 1), node("b", 1, 1), node("c", 1, 0)});
  constexpr uint64_t layer = 100 * 100 + 100;
  constexpr uint64_t parameters = 6 * layer;
  ASSERT_EQ(plan.parameter_count, parameters);
  const auto& spans = plan.processes[0].spans;
  ASSERT_EQ(spans.size(), 1u);
  const auto own = spans.front().end; // blocks of 4,096: a has the first ones
  ASSERT_GT(own, 2 * layer);
  ASSERT_LT(own, 3 * layer);
  EXPECT_EQ(plan.processes[0].window, own + 1) << "and b's first element";
  EXPECT_EQ(plan.processes[2].window, 2u);
  const auto link = [&](size_t from, size_t to) {
    for (const auto& one : plan.process_links)
      if (one.from == from && one.to == to)
        return one;
    return process_link_plan{};
  };
  EXPECT_EQ(link(0, 1).parameters, 4u) << "the word that a version is done";
  // b needs a's first layer twice, the second and what a has of the third once: the others are its own.
  EXPECT_EQ(link(0, 1).fetched, 4 * (layer + own));
  // a needs the rest of the third and the fourth twice, the last two once.
  EXPECT_EQ(link(1, 0).fetched, 4 * (2 * (4 * layer - own) + 2 * layer));
  EXPECT_EQ(link(0, 2).fetched + link(1, 2).fetched, 4 * (2 * parameters - 2 * layer));
  EXPECT_EQ(link(2, 0).sum(), link(2, 0).gradients) << "c owns nothing";
  EXPECT_EQ(link(2, 0).gradients, 4 * own);
  const auto& memory = plan.processes[2].memory;
  EXPECT_EQ(memory.of(memory_cause::parameters), 4 * (2 * 2 + 2 * layer)) << "two segments";
  EXPECT_EQ(memory.of(memory_cause::gradients), 4 * (1 + 2) * layer) << "and two on their way";
  EXPECT_EQ(plan.processes[0].memory.of(memory_cause::sums),
            link(1, 0).gradients + link(2, 0).gradients + 4 * own);
}

std::vector<cluster_node> on(std::vector<cluster_node> nodes, const std::string& device = "0") {
  for (auto& one : nodes)
    one.device = device;
  return nodes;
}

// Six layers as above: parameters of a device are all that is at hand there, and of the rest one segment.
TEST(process_plan, a_device_has_a_process_s_own_segments_and_one_that_is_fetched) {
  const auto plan =
    plan_on(sharded_job(60), hundreds, on({node("a", 1, 1), node("b", 1, 1), node("c", 1, 0)}));
  constexpr uint64_t layer = 4 * (100 * 100 + 100);
  const auto expect_parameters = [&](size_t process, uint64_t bytes) {
    const auto& device = plan.processes[process].on_devices;
    const auto& rank = plan.replicas[plan.processes[process].replicas.at(0)];
    // Of each slice two rows at most, and a layer's gradient.
    const auto items = rank.slices_held * (rank.slice_activation_bytes + layer);
    EXPECT_GE(device.bytes, bytes + items);
    EXPECT_LT(device.bytes, bytes + items + rank.slices_held * layer / 4);
    EXPECT_EQ(device.at_a_time, layer);
  };
  expect_parameters(0, (2 + 1) * layer);
  expect_parameters(1, (3 + 1) * layer);
  expect_parameters(2, 1 * layer);
}

TEST(process_plan, a_device_has_a_replica_s_part_and_a_spare_s_need_is_the_largest) {
  auto x = wide_job();
  x.parallel.tensor = 2;
  const auto plan = plan_on(x, digits, on({node("a", 1, 1), node("b", 1, 1), node("c", 1, 0)}));
  const auto& a = plan.processes[0].on_devices;
  const auto& one = plan.replicas[0];
  constexpr auto own = 4 * (2 * part + last_layer + common);
  const auto items = one.slices_held * (one.slice_activation_bytes + 4 * part);
  EXPECT_GE(a.bytes, own + items);
  EXPECT_LT(a.bytes, own + items + one.slices_held * 4 * 64 * 8192) << "no rows are evaluated";
  EXPECT_EQ(a.at_a_time, 4 * part);
  EXPECT_EQ(plan.processes[2].on_devices.bytes,
            std::max(a.bytes, plan.processes[1].on_devices.bytes));
  EXPECT_EQ(plan_on(x, digits, two).processes[0].on_devices.bytes, 0u) << "the processor";
}

TEST(process_plan, a_device_needs_room_for_the_largest_stage) {
  auto x = wide_job();
  x.model.cuts = 1;
  x.parallel.pipeline = 3;
  const auto device = plan_on(x, digits, on({node("a", 3, 1)})).processes[0].on_devices;
  EXPECT_EQ(device.parts, 3u);
  EXPECT_GT(device.largest, device.bytes / 2) << "2048 x 2048, beside 784 x 2048 and 2048 x 10";
  EXPECT_LT(device.largest, device.bytes);
}

TEST(process_plan, processes_begin_with_one_device_after_the_other) {
  auto x = wide_job();
  x.training.replicas.emplace(4);
  run_place where;
  where.cluster.nodes = on({node("a", 1, 1), node("b", 1, 0), node("c", 2, 0)}, "auto");
  where.cluster.nodes[1].device = "cpu";
  const auto load = [&](size_t own) {
    where.own = own;
    return device_load_of(resolve(x, digits, 64), digits, where);
  };
  EXPECT_EQ(load(0).first, 0u);
  EXPECT_GT(load(0).bytes, 0u);
  EXPECT_EQ(load(1).bytes, 0u);
  EXPECT_EQ(load(2).first, 1u) << "b computes on the processor";
  EXPECT_EQ(load(2).parts, 2u);
  EXPECT_EQ(load(2).bytes, 2 * load(0).bytes);
  EXPECT_EQ(load(2).at_a_time, 4 * all);
}

TEST(process_plan, solvers_compute_on_the_processor) {
  job x;
  x.model.kind = model_kind::linear_regression;
  x.runtime.device = "0";
  const data_shape shape{600, 0, 100, 1, false, {}};
  const auto bytes = [&](optimizer_kind kind) {
    x.optimizer.kind = kind;
    return memory_plan_of(resolve(x, shape, 64), shape, {}).at(0).on_devices.bytes;
  };
  EXPECT_GT(bytes(optimizer_kind::sgd), 0u);
  EXPECT_EQ(bytes(optimizer_kind::closed_form), 0u);
}

TEST(process_plan, one_sharded_process_fetches_nothing) {
  auto x = wide_job();
  x.parallel.sharded = true;
  const auto plan = plan_on(x, digits, {node("a", 2, 2)});
  EXPECT_TRUE(plan.process_links.empty());
  EXPECT_EQ(plan.processes[0].window, all);
}

} // namespace
} // namespace troupe::process_plan_test
