#include "troupe/coordinators/parallel/parallel_plan.hpp"

#include "troupe/coordinators/job/memory_need.hpp"
#include "troupe/coordinators/membership/view_placement.hpp"
#include "troupe/models/network/segment_chain.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace troupe {

namespace {

/// A stage with so many times the mean work keeps the others waiting.
constexpr double largest_stage_max = 1.3;

/// Rows times units of a product below which OpenBLAS has other kernels, for small matrices: slower
/// ones for what is computed in parts.
constexpr size_t small_product = 16 * 128;

class planner {
public:
  planner(const job& resolved, const data_shape& shape, const model& network)
    : job_(resolved),
      shape_(shape),
      network_(network),
      chain_(network.chain()),
      timeline_(timeline_of(resolved, shape)),
      split_(split_of(resolved, chain_)) {}

  parallel_plan result(size_t core_count) && {
    describe_model();
    plan_groups();
    share_work();
    warn_of_work();
    warn_of_replicas(core_count);
    return std::move(result_);
  }

private:
  void describe_model() {
    result_.widths.push_back(network_.feature_count());
    for (const auto& layer : chain_.layers())
      result_.widths.push_back(layer.outputs);
    result_.part_count = chain_.part_count();
    result_.parameter_count = network_.layout().size();
    const auto whole = std::reduce(split_.segment_costs.begin(), split_.segment_costs.end());
    for (size_t k = 0; k < chain_.size(); ++k) {
      const auto& x = chain_.segment(k);
      std::vector<layer_cut> cuts;
      for (auto i = x.first_layer; i <= x.last_layer(); ++i)
        cuts.push_back(chain_.cut(i));
      result_.segments.push_back({{x.first_layer, x.last_layer() + 1},
                                  std::move(cuts),
                                  chain_.out_width(k),
                                  ratio(split_.segment_costs[k], whole)});
    }
    const uint64_t model_bytes = result_.parameter_count * sizeof(float);
    result_.version_bytes = 2 * model_bytes;
    result_.optimizer_bytes = optimizer_value_count(job_.optimizer) * model_bytes;
    result_.sum_bytes = model_bytes;
  }

  /// As the director places one process.
  std::vector<portion> portions() const {
    const auto count = split_.shape.data * split_.shape.group_size();
    std::vector<portion> result;
    for (const auto& x :
         place_anew({{"", 0, count, 1}}, *job_.training.slices, result_.parameter_count, split_)
           .replicas)
      result.push_back(split_.shape.group_size() > 1 || x.slices.empty()
                         ? portion{x.slices, x.segments, x.parts}
                         : portion{x.slices, {0, chain_.size()}, {0, chain_.part_count()}});
    return result;
  }

  void plan_groups() {
    const auto all = portions();
    const auto size = split_.shape.group_size();
    result_.shape = split_.shape;
    result_.shape.data = 0;
    for (size_t begin = 0; begin < all.size(); begin += size) {
      const auto first = all.begin() + static_cast<std::ptrdiff_t>(begin);
      if (first->empty()) {
        result_.replicas.resize(result_.replicas.size() + size);
        continue;
      }
      ++result_.shape.data;
      add_group(begin, {first, first + static_cast<std::ptrdiff_t>(size)});
    }
  }

  void add_group(size_t first, std::vector<portion> members) {
    const auto evaluated = std::max(shape_.test_row_count, shape_.validation_row_count);
    const bool gathers = timeline_.batch_size < timeline_.row_count;
    const auto words = shape_.feature_count + (shape_.classification ? 1 : shape_.output_count) + 1;
    group_work work{std::move(members),
                    {},
                    std::min(evaluated, evaluation_chunk_rows),
                    gathers ? words : 0,
                    job_.parallel.schedule};
    const auto slices = work.members.front().slices;
    for (auto slice = slices.begin; slice < slices.end; ++slice)
      work.slice_rows.push_back(timeline_.rows_of_slice(0, slice).size());
    const auto count =
      work.slice_rows.size() - static_cast<size_t>(std::ranges::count(work.slice_rows, size_t{0}));
    result_.slice_count = first == 0 ? count : result_.slice_count + count;
    fewest_slices_ = first == 0 ? count : std::min(fewest_slices_, count);
    const auto group = plan_group(network_, work);
    std::ranges::copy(group.replicas, std::back_inserter(result_.replicas));
    for (const auto& link : group.links)
      result_.links.push_back({first + link.from, first + link.to, link.bytes});
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
    if (const auto units = smallest_part(); units * largest_slice() < small_product)
      warn("a part of {} units is slow to compute in slices of {} rows", units, largest_slice());
  }

  void warn_of_replicas(size_t core_count) {
    const auto working = result_.shape.data * result_.shape.group_size();
    if (working < result_.replicas.size())
      warn("{} replicas have nothing to do: {} slices for {} groups",
           result_.replicas.size() - working, *job_.training.slices, split_.shape.data);
    if (const auto threads = std::min(core_count, *job_.runtime.threads); threads < working)
      warn("{} replicas on {} threads take turns", working, threads);
  }

  size_t largest_slice() const {
    return (timeline_.batch_size + timeline_.slice_count - 1) / timeline_.slice_count;
  }

  /// Units of the smallest part of a layer that is cut; without one any number.
  size_t smallest_part() const {
    auto result = small_product;
    for (const auto& segment : chain_.segments())
      for (auto i = segment.first_layer; i <= segment.last_layer(); ++i)
        for (size_t t = 0; segment.cut != layer_cut::none && t < chain_.part_count(); ++t)
          if (const auto units = chain_.units(i, t).size(); units > 0)
            result = std::min(result, units);
    return result;
  }

  static double ratio(uint64_t part, uint64_t whole) {
    return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
  }

  const job& job_;
  const data_shape& shape_;
  const model& network_;
  const segment_chain& chain_;
  timeline timeline_;
  model_split split_;
  size_t fewest_slices_ = 0; ///< of a group
  parallel_plan result_;
};

} // namespace

uint64_t parallel_plan::bytes() const {
  auto result = shared_bytes();
  for (const auto& x : replicas)
    result += x.bytes();
  return result;
}

parallel_plan plan_of(const job& resolved, const data_shape& shape, const model& network,
                      size_t core_count) {
  return planner{resolved, shape, network}.result(core_count);
}

} // namespace troupe
