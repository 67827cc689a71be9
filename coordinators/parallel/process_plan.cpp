#include "coordinators/parallel/process_plan.hpp"

#include "coordinators/base/span_set.hpp"
#include "coordinators/exchange/link_limits.hpp"
#include "coordinators/exchange/tensor_name.hpp"
#include "coordinators/job/training_modes.hpp"
#include "coordinators/membership/cut_rule.hpp"
#include "coordinators/parallel/tile_rule.hpp"
#include "coordinators/step/placement.hpp"
#include "models/base/saturating.hpp"
#include "models/device/device_model.hpp"
#include "models/segments/segment_chain.hpp"
#include "models/whole_model/whole_model_rule.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace troupe {

const std::string& device_choice(const job& resolved, const cluster_node& node) {
  return node.device.empty() ? resolved.runtime.device : node.device;
}

namespace {

/// Of a slice, or of a chunk of an evaluation.
size_t rows_at_a_time(const timeline& plan, const data_shape& shape) {
  const auto evaluated = std::max(shape.test_row_count, shape.validation_row_count);
  return std::max(plan.batch_size / plan.slice_count + 1,
                  std::min(evaluated, evaluation_chunk_rows));
}

} // namespace

device_load load_of_whole_models(const job& resolved, const cluster_node& node,
                                 const data_shape& shape) {
  if (device_choice(resolved, node) == processor_choice || node.replica_count == 0)
    return {};
  const auto network = make_model(resolved, shape);
  if (!device_problem(*network).empty())
    return {};
  const auto plan = timeline_of(resolved, shape);
  const bool is_trained = has_server(resolved.training);
  size_t gradients = 1; // in the making, and a left child at each height of the tree
  if (!is_trained && resolved.training.exchange == number_format::float32)
    gradients += static_cast<size_t>(std::bit_width(plan.slice_count - 1));
  device_load result;
  result.parts = node.replica_count * (is_trained ? 2 : 1);
  result.bytes =
    saturated_product(result.parts, device_bytes(*network, rows_at_a_time(plan, shape), gradients));
  result.at_a_time = network->layout().size() * sizeof(float);
  return result;
}

namespace {

/// Copies of a span's state that may be asked for, and one in the making.
constexpr uint64_t state_copies = 3;
/// Of one version that is everywhere, of one that may be, and of one in the making.
constexpr uint64_t copies_kept = 3;

/// Sums of segments that are on their way to others' shards, where wires are no slower than replicas.
constexpr uint64_t sent_segments_max = 2;

/// Threads and buffers of a process that has links, whatever goes over them: measured.
constexpr uint64_t wire_bytes = uint64_t{10} << 20;

uint64_t floats(uint64_t count) {
  return count * sizeof(float);
}

uint64_t common_elements(const std::vector<index_range>& some, const index_range& span) {
  uint64_t result = 0;
  for (const auto& one : some)
    result += shared_part(one, span).size();
  return result;
}

class process_planner {
public:
  explicit process_planner(const process_work& work)
    : work_(work),
      chain_(work.network.chain()),
      plan_(timeline_of(work.resolved, work.shape)),
      windows_(work.nodes.size()) {
    const auto& optimizer = work.resolved.optimizer;
    block_numbers_ = optimizer.clip_norm > 0 ? 1 : 0;
    if (scope_of(optimizer.kind) != optimizer_scope::whole_model)
      return;
    const auto rule = make_whole_model_rule(optimizer, work.network.layout());
    has_point_ = rule->point_slot().has_value();
    if (rule->sum_count())
      block_numbers_ = block_number_count(*rule);
  }

  processes_plan result() && {
    place();
    for (size_t m = 0; m < work_.nodes.size(); ++m)
      open_window(m);
    for (size_t a = 0; a < work_.nodes.size(); ++a)
      for (size_t b = 0; b < work_.nodes.size(); ++b)
        if (a != b)
          link(a, b);
    for (size_t m = 0; m < work_.nodes.size(); ++m)
      count_memory(m);
    return std::move(result_);
  }

private:
  size_t parameter_count() const { return work_.network.layout().size(); }
  process_plan& at(size_t m) { return result_.processes[m]; }

  void place() {
    for (const auto& node : work_.nodes)
      result_.processes.push_back({node.name, {}, {}, 0, {}, node.memory_bytes});
    for (size_t rank = 0; rank < work_.view.replicas.size(); ++rank)
      at(work_.view.replicas[rank].member).replicas.push_back(rank);
    for (const auto& place : work_.view.shards)
      at(place.member).spans.push_back(elements_of_blocks(place.blocks, parameter_count()));
  }

  void open_window(size_t m) {
    span_set window;
    for (const auto rank : at(m).replicas)
      for (const auto& elements : elements_read(chain_, work_.replicas[rank].work))
        if (!fetches())
          window.add(elements);
    for (const auto& span : at(m).spans)
      window.add(span);
    for (const auto& place : work_.view.shards)
      if (const auto span = elements_of_blocks(place.blocks, parameter_count());
          is_split() && !span.empty())
        window.add({span.begin, span.begin + 1}); // which shows that the rest is announced
    if (!is_split() && !at(m).is_idle())
      window.add({0, parameter_count()});
    windows_[m] = window.ranges();
    for (const auto& range : windows_[m])
      at(m).window += range.size();
  }

  // ---- Links ----

  void link(size_t from, size_t to) {
    process_link_plan x{from, to};
    x.gradients = gradients(from, to) * bytes_of(work_.resolved.training.exchange);
    x.parameters = floats(parameters(from, to)) * (has_point_ ? 2 : 1);
    x.fetched = floats(fetched(from, to));
    if (at(to).owned() > 0)
      for (const auto& span : at(from).spans)
        x.block_sums += block_count(span.size()) * block_numbers_ * sizeof(double);
    for (const auto& boundary : work_.boundaries)
      if (boundary.from == from && boundary.to == to)
        x.boundaries = boundary.bytes;
    if (x.sum() > 0)
      result_.links.push_back(x);
  }

  bool fetches() const { return work_.resolved.parallel.sharded && work_.nodes.size() > 1; }
  bool is_split() const { return work_.resolved.parallel.splits(); }

  /// Sums over nodes of slices that exist.
  size_t node_count(const index_range& slices) const {
    const auto nodes = largest_nodes(plan_.slice_count, slices);
    return static_cast<size_t>(std::ranges::count_if(nodes, [&](const tree_node& node) {
      for (auto slice = node.begin; slice < node.end; ++slice)
        if (plan_.slice_exists(0, slice))
          return true;
      return false;
    }));
  }

  /// Of all replicas here: gradients of whole models are added up before they are sent.
  index_range slices_of(size_t m) const {
    index_range result;
    for (const auto rank : result_.processes[m].replicas)
      if (const auto& slices = work_.replicas[rank].work.slices; !slices.empty())
        result = {result.empty() ? slices.begin : result.begin, slices.end};
    return result;
  }

  uint64_t gradients(size_t from, size_t to) {
    uint64_t result = 0;
    for (const auto& span : at(to).spans) {
      if (!is_split())
        result += node_count(slices_of(from)) * span.size();
      for (const auto rank : at(from).replicas)
        if (const auto& work = work_.replicas[rank].work; is_split() && !work.empty())
          result +=
            node_count(work.slices) * common_elements(elements_contributed(chain_, work), span);
    }
    return result;
  }

  uint64_t parameters(size_t from, size_t to) {
    uint64_t result = 0;
    const bool by_slices = is_split() || work_.resolved.parallel.sharded;
    const bool gets_versions = by_slices ? work_.view.computes(to) : work_.view.follows(to);
    for (const auto& span : at(from).spans)
      if (!span.empty() && gets_versions)
        result += common_elements(windows_[to], span);
    return result;
  }

  uint64_t fetched(size_t from, size_t to) {
    uint64_t result = 0;
    for (const auto rank : at(to).replicas)
      for (const auto& [elements, times] : fetched_by(work_.replicas[rank].work, to))
        for (const auto& span : at(from).spans)
          result += times * common_elements(elements, span);
    return result;
  }

  /// Elements of a segment, and how often they are fetched in a step.
  struct fetched_segment {
    std::vector<index_range> elements;
    uint64_t times = 1;
  };

  /// Forward, and back but for those that are here still.
  std::vector<fetched_segment> fetched_by(const partition& work, size_t m) const {
    std::vector<fetched_segment> result;
    for (auto k = work.segments.begin; fetches() && !work.empty() && k < work.segments.end; ++k) {
      auto elements = elements_read(chain_, {work.slices, {k, k + 1}, work.parts});
      const bool is_here = std::ranges::all_of(elements, [&](const index_range& x) {
        return common_elements(windows_[m], x) == x.size();
      });
      if (!is_here)
        result.push_back({std::move(elements), 2});
    }
    for (size_t i = 0; i < std::min(fetched_segments_max, result.size()); ++i)
      (result.rbegin() + static_cast<std::ptrdiff_t>(i))->times = 1;
    return result;
  }

  /// The largest segment, as often as one may be here or under way.
  uint64_t fetched_here(size_t m) const {
    uint64_t largest = 0;
    size_t computing = 0;
    for (const auto rank : result_.processes[m].replicas) {
      const auto all = fetched_by(work_.replicas[rank].work, m);
      computing += all.empty() ? 0 : 1;
      for (const auto& x : all)
        largest = std::max(largest, common_elements(x.elements, {0, parameter_count()}));
    }
    return computing * fetched_segments_max * largest;
  }

  // ---- Memory ----

  void count_memory(size_t m) {
    auto& x = at(m);
    const uint64_t versions = x.spans.empty() ? 2 : 3;
    const auto slots = optimizer_value_count(work_.resolved.optimizer);
    x.memory.add(memory_cause::parameters, floats(versions * x.window + fetched_here(m)));
    x.memory.add(memory_cause::optimizer, slots * floats(x.owned()));
    for (const auto rank : x.replicas)
      add_replica(x.memory, work_.replicas[rank]);
    x.on_devices = is_split() ? load_of_split_models(m)
                              : load_of_whole_models(work_.resolved, work_.nodes[m], work_.shape);
    x.memory.add(memory_cause::gradients, added_here(m) + kept_here(m));
    x.memory.add(memory_cause::sums, sums_of(m));
    if (work_.resolved.checkpoint.are_written() && x.owned() > 0)
      x.memory.add(memory_cause::checkpoints,
                   state_copies * slots * floats(x.owned()) + 2 * floats(x.window));
    if (work_.view.copy_every > 0)
      x.memory.add(memory_cause::copies,
                   std::min(copies_kept, plan_.last_version() / work_.view.copy_every) *
                     (1 + slots) * floats(x.owned() + owned_by_wards(m)));
    x.memory.add(memory_cause::data, bytes_of_rows(shape_at(work_.shape, x.name)));
    x.memory.add(memory_cause::process, program_bytes + under_way(m));
  }

  device_load load_of_split_models(size_t m) {
    device_load result;
    if (device_choice(work_.resolved, work_.nodes[m]) == processor_choice ||
        !device_problem(work_.network).empty())
      return result;
    for (const auto rank : at(m).replicas) {
      auto need = need_on_device(work_.replicas[rank], m);
      for (const auto& other : work_.replicas) // a spare may take over from any
        if (work_.replicas[rank].work.empty())
          need = std::max(need, need_on_device(other, m));
      result.bytes = saturated_sum(result.bytes, need);
      result.largest = std::max(result.largest, need);
    }
    result.parts = std::max<size_t>(at(m).replicas.size(), 1);
    for (size_t k = 0; k < chain_.size(); ++k)
      result.at_a_time = std::max(result.at_a_time, largest_tile({k, k + 1}));
    return result;
  }

  /// Bytes.
  uint64_t largest_tile(const index_range& segments) const {
    uint64_t result = 0;
    for (auto k = segments.begin; k < segments.end; ++k)
      for (size_t t = 0; t <= chain_.part_count(); ++t)
        result = std::max(result, floats(chain_.tile(k, t).size()));
    return result;
  }

  /// Bytes: the parameters of a partition, but of segments that are fetched one at a time; and of each slice under way
  /// activations, features, what layers use there, and a tile's gradient or a boundary's sum.
  uint64_t need_on_device(const replica_plan& x, size_t m) const {
    if (x.work.empty())
      return 0;
    uint64_t width = 0, fetched = 0, largest = 0;
    for (auto k = x.work.segments.begin; k < x.work.segments.end; ++k)
      width = std::max<uint64_t>(width, std::max(chain_.in_width(k), chain_.out_width(k)));
    for (const auto& segment : fetched_by(x.work, m)) {
      const auto size = common_elements(segment.elements, {0, parameter_count()});
      fetched += size;
      largest = std::max(largest, size);
    }
    const auto read = common_elements(elements_read(chain_, x.work), {0, parameter_count()});
    const auto rows = rows_at_a_time(plan_, work_.shape);
    const auto values = saturated_sum(
      saturated_product(rows, work_.network.feature_count() + width), chain_.device_scratch(rows));
    const auto item = saturated_sum(saturated_product(values, sizeof(float)),
                                    x.slice_activation_bytes + largest_tile(x.work.segments));
    return saturated_sum(floats(read - fetched + largest), saturated_product(x.slices_held, item));
  }

  /// Elements of the spans that it is a deputy of.
  uint64_t owned_by_wards(size_t m) const {
    uint64_t result = 0;
    for (size_t k = 0; k < work_.view.shards.size(); ++k)
      if (const auto deputies = deputies_of(work_.view, k);
          std::ranges::find(deputies, m) != deputies.end())
        result += elements_of_blocks(work_.view.shards[k].blocks, parameter_count()).size();
    return result;
  }

  static void add_replica(memory_need& to, const replica_plan& x) {
    to.add(memory_cause::gradients, x.gradient_bytes());
    to.add(memory_cause::activations, x.activation_bytes());
    to.add(memory_cause::boundaries, x.boundary_bytes());
    to.add(memory_cause::kept, x.kept_boundary_bytes);
  }

  /// Sums of several whole gradients, for other processes.
  uint64_t added_here(size_t m) {
    size_t computing = 0;
    for (const auto rank : at(m).replicas)
      computing += work_.replicas[rank].work.empty() ? 0 : 1;
    const bool has_all = at(m).owned() == parameter_count();
    return is_split() || has_all || computing < 2 ? 0 : floats(parameter_count());
  }

  /// Sums of segments that are done: in one process until the step is, else until they have come to
  /// others' shards.
  uint64_t kept_here(size_t m) const {
    uint64_t result = 0;
    for (const auto rank : result_.processes[m].replicas)
      if (const auto& x = work_.replicas[rank]; x.segment_gradient_bytes)
        result += fetches() ? std::min(x.slice_gradient_bytes,
                                       sent_segments_max * *x.segment_gradient_bytes)
                            : x.slice_gradient_bytes;
    return result;
  }

  uint64_t sums_of(size_t m) {
    uint64_t result = 0;
    for (const auto rank : at(m).replicas) // local replicas' shares of local spans
      if (const auto& work = work_.replicas[rank].work; fetches() && !work.empty())
        result += node_count(work.slices) * floats(at(m).owned());
    for (const auto& one : result_.links)
      if (one.to == m) // the receiver widens them to float32 again
        result += floats(one.gradients / bytes_of(work_.resolved.training.exchange));
    const auto& optimizer = work_.resolved.optimizer;
    const bool is_whole = scope_of(optimizer.kind) == optimizer_scope::whole_model;
    if (optimizer.clip_norm > 0 || is_whole)
      result += floats(at(m).owned());
    return result;
  }

  uint64_t under_way(size_t m) const {
    uint64_t result = work_.nodes.size() > 1 ? wire_bytes : 0;
    for (const auto& one : result_.links)
      if (one.from == m || one.to == m)
        result += std::min<uint64_t>(one.sum(), link_credit_of(work_.nodes.size()));
    return result;
  }

  const process_work& work_;
  const segment_chain& chain_;
  timeline plan_;
  std::vector<std::vector<index_range>> windows_; ///< by process
  size_t block_numbers_ = 0;                      ///< that shards send each other in a step
  bool has_point_ = false; ///< gradients are taken elsewhere than at the parameters
  processes_plan result_;
};

} // namespace

uint64_t process_plan::owned() const {
  uint64_t result = 0;
  for (const auto& span : spans)
    result += span.size();
  return result;
}

processes_plan plan_processes(const process_work& work) {
  return process_planner{work}.result();
}

} // namespace troupe
