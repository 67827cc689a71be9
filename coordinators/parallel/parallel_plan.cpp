#include "coordinators/parallel/parallel_plan.hpp"

#include "coordinators/job/training_modes.hpp"
#include "coordinators/membership/cut_rule.hpp"
#include "coordinators/membership/view_placement.hpp"
#include "coordinators/step/placement.hpp"
#include "models/base/copy_values.hpp"
#include "models/base/saturating.hpp"
#include "models/segments/segment_chain.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

namespace troupe {

namespace {

/// A stage with so many times the mean work keeps the others waiting.
constexpr double largest_stage_max = 1.3;

/// Rows times units of a product below which laying out its operands takes longer than the product: more so in parts.
constexpr size_t small_product = 16 * 128;

std::vector<cluster_node> one_process(const job& resolved) {
  cluster_node result;
  result.replica_count = *resolved.training.replicas * resolved.parallel.group_size();
  result.shard_count = 1;
  return {result};
}

class planner {
public:
  planner(const job& resolved, const data_shape& shape, const model& network,
          const plan_options& options)
    : job_(resolved),
      options_(options),
      shape_(shape),
      network_(network),
      chain_(network.chain()),
      timeline_(timeline_of(resolved, shape)),
      split_(split_of(resolved, chain_)) {
    const auto size = split_.shape.group_size();
    if (options_.nodes.empty())
      options_.nodes = one_process(resolved);
    else
      split_.shape.data = resolved.parallel.data.value_or(replica_count() / size);
    split_.shape.data = std::max<size_t>(split_.shape.data, 1);
    is_cluster_ = options.nodes.size() > 1;
  }

  parallel_plan result() && {
    describe_model();
    place();
    plan_groups();
    plan_all_processes();
    share_work();
    warn_of_work();
    warn_of_replicas();
    return std::move(result_);
  }

private:
  void describe_model() {
    result_.widths.push_back(network_.feature_count());
    for (const auto width : chain_.layer_widths())
      result_.widths.push_back(width);
    result_.part_count = chain_.part_count();
    result_.parameter_count = network_.layout().size();
    const auto whole = std::reduce(split_.segment_costs.begin(), split_.segment_costs.end());
    for (size_t k = 0; k < chain_.size(); ++k) {
      const auto& x = chain_.segment(k);
      result_.segments.push_back({{x.first_layer, x.last_layer() + 1},
                                  chain_.cuts_of(k),
                                  chain_.out_width(k),
                                  ratio(split_.segment_costs[k], whole)});
    }
  }

  size_t replica_count() const {
    size_t result = 0;
    for (const auto& node : options_.nodes)
      result += node.replica_count;
    return result;
  }

  /// As the director does.
  void place() {
    std::vector<member> members;
    for (const auto& node : options_.nodes)
      members.push_back({node.name, 0, node.replica_count, node.shard_count});
    view_ = place_anew(std::move(members), *job_.training.slices, result_.parameter_count, split_,
                       holders_of(shape_, timeline_));
    if (copies_spans(job_))
      plan_copies(view_, {options_.recovery.copies, options_.recovery.copy_every.value_or(0),
                          optimizer_value_count(job_.optimizer)});
  }

  std::vector<partition> partitions() const {
    std::vector<partition> result;
    for (const auto& x : view_.replicas)
      result.push_back(split_.splits() || x.slices.empty()
                         ? partition{x.slices, x.segments, x.parts}
                         : partition{x.slices, {0, chain_.size()}, {0, chain_.part_count()}});
    return result;
  }

  void plan_groups() {
    const auto all = partitions();
    const auto size = split_.shape.group_size();
    result_.shape = split_.shape;
    result_.shape.data = 0;
    result_.replicas.resize(all.size());
    for (const auto& work : all)
      group_count_ += work.empty() ? 0 : 1;
    group_count_ /= size;
    for (size_t begin = 0; begin + size <= all.size() && !all[begin].empty(); begin += size) {
      const auto first = all.begin() + static_cast<std::ptrdiff_t>(begin);
      add_group(begin, {first, first + static_cast<std::ptrdiff_t>(size)});
      ++result_.shape.data;
    }
  }

  void add_group(size_t first, std::vector<partition> members) {
    const auto evaluated = std::max(shape_.test_row_count, shape_.validation_row_count);
    const bool gathers = timeline_.batch_size < timeline_.row_count;
    const auto row_words = shape_.sparse ? 4 : shape_.feature_count; // where it begins and ends
    const auto words = row_words + (shape_.classification ? 1 : shape_.output_count) + 1;
    group_work work;
    work.members = std::move(members);
    for (size_t i = 0; i < work.members.size(); ++i)
      work.processes.push_back(view_.replicas[first + i].member);
    work.evaluated_rows = std::min(evaluated, evaluation_chunk_rows);
    work.evaluated_chunks =
      split_evenly(shape_.evaluated().chunk_count(), group_count_).at(result_.shape.data).size();
    work.gathered_words = gathers ? words : 0;
    work.schedule = job_.parallel.schedule;
    work.by_segment = split_.sharded;
    const auto slices = work.members.front().slices;
    for (auto slice = slices.begin; slice < slices.end; ++slice)
      work.slice_rows.push_back(timeline_.rows_of_slice(0, slice).size());
    const auto count =
      work.slice_rows.size() - static_cast<size_t>(std::ranges::count(work.slice_rows, size_t{0}));
    result_.slice_count = first == 0 ? count : result_.slice_count + count;
    fewest_slices_ = first == 0 ? count : std::min(fewest_slices_, count);
    const auto group = plan_group(network_, work);
    copy_values(group.replicas, result_.replicas.begin() + static_cast<std::ptrdiff_t>(first));
    for (const auto& link : group.links)
      result_.links.push_back({first + link.from, first + link.to, link.bytes});
    for (const auto& wire : group.wires)
      add_wire(wire);
  }

  /// Several groups may meet on a link.
  void add_wire(const link_plan& wire) {
    const auto found = std::ranges::find_if(
      wires_, [&](const link_plan& x) { return x.from == wire.from && x.to == wire.to; });
    if (found == wires_.end())
      return wires_.push_back(wire);
    for (size_t way = 0; way < wire.bytes.size(); ++way)
      found->bytes[way] += wire.bytes[way];
  }

  void plan_all_processes() {
    auto [processes, links] =
      plan_processes({job_, network_, shape_, view_, options_.nodes, result_.replicas, wires_});
    result_.processes = std::move(processes);
    result_.process_links = std::move(links);
  }

  void share_work() {
    const auto stages = static_cast<double>(result_.shape.pipeline);
    result_.bubble = (stages - 1) / (static_cast<double>(fewest_slices_) + stages - 1);
    uint64_t whole = 0, most = 0;
    for (const auto& x : result_.replicas) {
      whole += x.multiply_adds;
      most = std::max(most, x.multiply_adds);
    }
    const auto working = result_.shape.data * result_.shape.group_size();
    result_.imbalance = ratio(most, whole) * static_cast<double>(working);
    result_.stage_shares.assign(result_.shape.pipeline, 0);
    for (size_t rank = 0; rank < working; ++rank)
      result_.stage_shares[rank / result_.shape.tensor % result_.shape.pipeline] +=
        ratio(result_.replicas[rank].multiply_adds, whole);
  }

  // ---- Warnings ----

  template <class... Values>
  void warn(fmt::format_string<Values...> text, Values&&... values) {
    result_.warnings.push_back(fmt::format(text, std::forward<Values>(values)...));
  }

  void warn_of_work() {
    const auto stages = result_.shape.pipeline;
    const auto largest = std::ranges::max(result_.stage_shares) * static_cast<double>(stages);
    if (largest > largest_stage_max)
      warn("a stage has {:.2g} times the mean work, and the others wait for it", largest);
    if (fewest_slices_ < stages)
      warn("{} slices for {} stages: a stage waits for {:.0f} % of a step", fewest_slices_, stages,
           100 * result_.bubble);
    if (const auto units = chain_.smallest_part().value_or(small_product);
        units * largest_slice() < small_product)
      warn("a part of {} units is slow to compute in slices of {} rows", units, largest_slice());
  }

  void warn_of_replicas() {
    const auto working = result_.shape.data * result_.shape.group_size();
    if (working < result_.replicas.size())
      warn("{} replicas have nothing to do: {} slices for {} groups",
           result_.replicas.size() - working, *job_.training.slices, split_.shape.data);
    const auto threads = std::min(options_.core_count, job_.runtime.threads.value_or(1));
    if (!is_cluster_ && threads < working)
      warn("{} replicas on {} threads take turns", working, threads);
  }

  size_t largest_slice() const {
    return (timeline_.batch_size + timeline_.slice_count - 1) / timeline_.slice_count;
  }

  static double ratio(uint64_t part, uint64_t whole) {
    return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
  }

  const job& job_;
  plan_options options_;
  const data_shape& shape_;
  const model& network_;
  const segment_chain& chain_;
  timeline timeline_;
  model_split split_;
  bool is_cluster_ = false;
  cluster_view view_;
  std::vector<link_plan> wires_; ///< boundaries between processes
  size_t group_count_ = 0;
  size_t fewest_slices_ = 0; ///< of a group
  parallel_plan result_;
};

} // namespace

parallel_plan plan_of(const job& resolved, const data_shape& shape, const model& network,
                      const plan_options& options) {
  return planner{resolved, shape, network, options}.result();
}

std::vector<process_plan> memory_plan_of(const job& resolved, const data_shape& shape,
                                         const plan_options& options) {
  const bool is_solver = scope_of(resolved.optimizer.kind) == optimizer_scope::solver;
  if (!is_solver && !has_server(resolved.training))
    return plan_of(resolved, shape, *make_model(resolved, shape), options).processes;
  cluster_plan cluster;
  cluster.nodes = options.nodes.empty() ? one_process(resolved) : options.nodes;
  if (!options.nodes.empty())
    cluster = cluster.with_server(is_solver || has_one_owner(resolved));
  const auto owners = static_cast<size_t>(
    std::ranges::count_if(cluster.nodes, [](const auto& x) { return x.shard_count > 0; }));
  size_t replica_count = 0; // of a process that joins, too
  for (const auto& node : cluster.nodes)
    replica_count += node.replica_count;
  std::vector<process_plan> result;
  for (const auto& node : cluster.nodes)
    result.push_back({node.name,
                      {},
                      {},
                      0,
                      need_of_whole_models(
                        resolved, shape, node.replica_count,
                        {node.shard_count > 0 ? owners : 0, replica_count - node.replica_count}),
                      node.memory_bytes,
                      is_solver ? device_load{} : load_of_whole_models(resolved, node, shape)});
  return result;
}

namespace {

std::string node_text(const process_plan& x) {
  return x.name.empty() ? "training takes" : "node '" + x.name + "' takes";
}

memory_need sum_of(const std::vector<process_plan>& processes) {
  memory_need result;
  for (const auto& x : processes)
    for (const auto& [cause, name] : name_table<memory_cause>::entries)
      result.add(cause, x.memory.of(cause));
  return result;
}

uint64_t beside_threads(uint64_t bytes, const std::optional<size_t>& new_threads) {
  const auto taken = new_threads ? address_bytes_of_threads(*new_threads) : 0;
  return bytes - std::min(bytes, taken);
}

} // namespace

run_place place_in(const cluster_plan& cluster, const std::string& own_name) {
  return {cluster, cluster.find(own_name).value_or(0)};
}

device_load device_load_of(const job& resolved, const data_shape& shape, const run_place& where) {
  const auto& nodes = where.cluster.nodes;
  const auto own = where.own.value_or(0);
  if (device_choice(resolved, nodes.empty() ? cluster_node{} : nodes.at(own)) == processor_choice)
    return {};
  auto result =
    memory_plan_of(resolved, shape, {1, nodes, where.cluster.recovery}).at(own).on_devices;
  // Processes of one machine, whose nodes are listed one behind the other, take one device after the other.
  for (size_t m = 0; m < own; ++m)
    if (device_choice(resolved, nodes[m]) != processor_choice)
      result.first += nodes[m].replica_count;
  return result;
}

std::optional<job_problem> countless_problem(const job& resolved, const data_shape& shape,
                                             const memory_room& room) {
  const auto need = beyond_counting(resolved, shape);
  if (!need)
    return std::nullopt;
  const auto bytes = std::min({room.machine, room.groups, room.address_space, countable_bytes});
  const auto parameters = std::to_string(parameter_count_of(resolved, shape));
  return memory_problem(*need, {memory_limit_kind::machine, bytes},
                        "a model of " + parameters + " parameters takes");
}

std::optional<job_problem> memory_problem(const std::vector<process_plan>& processes,
                                          const run_place& where, const memory_room& room) {
  for (const auto& x : processes)
    if (x.limit)
      if (const auto found =
            memory_problem(x.memory, {memory_limit_kind::stated, *x.limit}, node_text(x)))
        return found;
  if (!where.own)
    return std::nullopt;
  const auto& own = processes.at(*where.own);
  const auto here = where.has_all_nodes ? sum_of(processes) : own.memory;
  const std::string who = where.has_all_nodes ? "all nodes together take" : node_text(own);
  const auto space = beside_threads(room.address_space, where.new_threads);
  auto found =
    memory_problem(own.memory, {memory_limit_kind::address_space, space}, node_text(own));
  if (!found)
    found = memory_problem(here, {memory_limit_kind::group, room.groups}, who);
  if (!found)
    found = memory_problem(here, {memory_limit_kind::machine, room.machine}, who);
  return found;
}

} // namespace troupe
