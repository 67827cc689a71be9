// Walks of a group of replicas that share a model, drawn from a seed: its shape, how its layers are cut,
// who carries what, and the order in which tiles are computed and pieces arrive.
//
// Two twins say what is right: the same model carried by one, to the bit; and the model that is not
// cut, to rounding.

#pragma once

#include "actors/step/partition_work.hpp"
#include "coordinators/parallel/grid.hpp"
#include "models/base/random.hpp"
#include "models/network/neural_network.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <vector>

namespace troupe::test {

class partition_walk {
public:
  explicit partition_walk(uint64_t seed) : random_(seed), seed_(seed) {}

  /// What went wrong; empty when nothing did.
  std::string run() {
    draw_model();
    draw_rows();
    draw_group();
    for (const auto kind : {tile_rule::work_kind::evaluation, tile_rule::work_kind::step}) {
      expected_.push_back(carried_by_one(*cut_, kind));
      if (const auto problem = compare_with_uncut(expected_.back(), kind); !problem.empty())
        return text() + problem;
    }
    const auto problem = run_group();
    return problem.empty() ? problem : text() + problem;
  }

private:
  struct outcome {
    std::vector<std::vector<float>> gradients; ///< by slice
    std::vector<batch_sums> sums;
  };
  struct member {
    std::unique_ptr<partition_work> work;
    size_t phase = 0; ///< of what it has begun: 1 the evaluation, 2 the step
  };

  size_t below(size_t count) { return random_() % count; }
  bool one_in(size_t count) { return below(count) == 0; }

  void draw_model() {
    parts_ = 1 + below(5);
    const auto layer_count = 1 + below(4);
    while (options_.cuts.size() < layer_count) {
      const auto left = layer_count - options_.cuts.size();
      const auto choice = below(4);
      if (choice == 0 && left > 1) {
        options_.cuts.push_back(layer_cut::outputs);
        options_.cuts.push_back(layer_cut::inputs);
      } else if (choice == 1 && options_.cuts.empty()) {
        options_.cuts.push_back(layer_cut::inputs);
      } else {
        options_.cuts.push_back(choice == 2 && left == 1 ? layer_cut::outputs : layer_cut::none);
      }
    }
    options_.features = 1 + below(9);
    options_.outputs = 2 + below(7);
    for (size_t i = 1; i < layer_count; ++i)
      options_.hidden.push_back(1 + below(12));
    const auto& activations = name_table<activation_kind>::entries;
    options_.activation = activations[below(activations.size())].first;
    const loss_kind losses[] = {loss_kind::categorical_cross_entropy, loss_kind::squared,
                                loss_kind::huber};
    options_.loss = losses[below(3)];
    if (is_classification(options_.loss.kind) && one_in(3))
      for (size_t i = 0; i < options_.outputs; ++i)
        options_.loss.class_weights.push_back(0.5f * static_cast<float>(i));
    options_.bias = !one_in(4);
    options_.dropout = one_in(3) ? 0.3 : 0;
    uncut_ = std::make_shared<neural_network>(options_);
    options_.parts = parts_;
    cut_ = std::make_shared<neural_network>(options_);
    logical_.resize(cut_->layout().size());
    fill_normal({seed_, random_purpose::initialization, 0}, 0, 0.4f, logical_);
    if (one_in(4)) // ties and, for the softmax, scores of either sign that are equal
      std::ranges::fill(logical_, 0.0f);
  }

  void draw_rows() {
    slice_count_ = 1 + below(5);
    for (size_t i = 0; i < slice_count_; ++i)
      slices_.push_back(
        {i == 0 ? 0 : slices_.back().end, (i == 0 ? 0 : slices_.back().end) + 1 + below(6)});
    const auto rows = slices_.back().end;
    features_.resize(rows * options_.features);
    targets_.resize(rows * options_.outputs);
    fill_normal({seed_, random_purpose::synthetic_features, 0}, 0, 1, features_);
    fill_normal({seed_, random_purpose::synthetic_targets, 0}, 0, 1, targets_);
    for (size_t i = 0; i < rows; ++i)
      labels_.push_back(static_cast<int32_t>(below(options_.outputs)));
  }

  void draw_group() {
    fetches_ = one_in(4);
    if (!fetches_)
      shape_ = {1, 1 + below(parts_), 1 + below(std::min<size_t>(cut_->chain().size(), 3))};
    grid_work work{slice_count_, parts_, {}, {}};
    for (size_t k = 0; k < cut_->chain().size(); ++k)
      work.segment_costs.push_back(1 + below(9));
    const auto group = place_partitions(shape_, work, shape_.group_size());
    const auto schedule =
      one_in(2) ? pipeline_schedule::gpipe : pipeline_schedule::one_forward_one_backward;
    for (size_t i = 0; i < group.size(); ++i)
      members_.push_back({std::make_unique<partition_work>(
                            partition_work_options{cut_, group, i, schedule, fetches_}),
                          0});
  }

  batch rows_of(size_t slice) const {
    batch all;
    all.row_count = slices_.back().end;
    all.features = features_;
    if (is_classification(options_.loss.kind))
      all.labels = labels_;
    else
      all.targets = targets_;
    all.seed = seed_;
    all.step = 3;
    return part_of(all, slices_[slice].begin, slices_[slice].size());
  }

  const_buffer parameters_of(const model& network) const {
    const buffer result{logical_.size()};
    network.layout().to_working(logical_, result.values());
    return result;
  }

  outcome carried_by_one(const model& network, tile_rule::work_kind kind) const {
    outcome result;
    workspace memory;
    const auto parameters = parameters_of(network);
    for (size_t slice = 0; slice < slice_count_; ++slice) {
      if (kind == tile_rule::work_kind::evaluation) {
        result.sums.push_back(network.evaluate(parameters.values(), rows_of(slice), memory));
        continue;
      }
      result.gradients.emplace_back(logical_.size());
      result.sums.push_back(
        network.gradient(parameters.values(), rows_of(slice), result.gradients.back(), memory));
    }
    return result;
  }

  static bool is_near(double a, double b, double scale) {
    return std::abs(a - b) <= 2e-5 * std::max(scale, 1.0);
  }

  std::string compare_with_uncut(const outcome& found, tile_rule::work_kind kind) const {
    const auto right = carried_by_one(*uncut_, kind);
    std::vector<float> logical(logical_.size());
    for (size_t slice = 0; slice < slice_count_; ++slice) {
      const auto& a = found.sums[slice];
      const auto& b = right.sums[slice];
      if (!is_near(a.loss_sum, b.loss_sum, std::abs(b.loss_sum)) ||
          a.sample_count != b.sample_count || a.correct_count != b.correct_count ||
          !is_near(a.squared_error_sum, b.squared_error_sum, b.squared_error_sum))
        return "the sums of slice " + std::to_string(slice) + " are not those of the uncut model";
      if (found.gradients.empty())
        continue;
      cut_->layout().to_logical(found.gradients[slice], logical);
      double largest = 0;
      for (const auto value : right.gradients[slice])
        largest = std::max(largest, static_cast<double>(std::abs(value)));
      for (size_t i = 0; i < logical.size(); ++i)
        if (!is_near(logical[i], right.gradients[slice][i], largest))
          return "the gradient of slice " + std::to_string(slice) +
                 " is not that of the uncut model";
    }
    return {};
  }

  // Everybody takes up the evaluation, then the step, as soon as it likes and has done what was before.
  std::string run_group() {
    found_.resize(2);
    for (auto& phase : found_)
      phase.sums.resize(slice_count_);
    found_[1].gradients.assign(
      slice_count_, std::vector<float>(logical_.size(), std::numeric_limits<float>::quiet_NaN()));
    std::vector<size_t> order(members_.size() + 1);
    std::iota(order.begin(), order.end(), 0);
    for (bool happened = true; happened;) {
      happened = false;
      std::ranges::shuffle(order, random_);
      for (const auto who : order)
        if (happened = who < members_.size() ? act(members_[who]) : arrive(); happened)
          break;
    }
    for (const auto& one : members_)
      if (one.phase != 2 || !one.work->is_done())
        return "a member waits for ever";
    return compare_bits();
  }

  bool act(member& one) {
    const bool acted = one.phase > 0 && one.work->compute_next();
    const bool begins = !acted && one.phase < 2 && (one.phase == 0 || one.work->is_done());
    if (begins) {
      std::vector<size_t> items(slice_count_);
      std::iota(items.begin(), items.end(), 0);
      const auto kind =
        one.phase == 0 ? tile_rule::work_kind::evaluation : tile_rule::work_kind::step;
      ++one.phase;
      one.work->begin(kind, 7, items, at_hand(),
                      [this](size_t slice, batch_reader&) { return rows_of(slice); });
    }
    collect(one);
    return acted || begins;
  }

  /// What the process has of the parameters: all, or where they are fetched some.
  windowed_buffer at_hand() {
    const auto all = parameters_of(*cut_);
    if (!fetches_)
      return all;
    const auto begin = below(all.size());
    const index_range own{begin, begin + 1 + below(all.size() - begin)};
    const auto window = std::make_shared<const element_window>(std::vector<index_range>{own});
    const buffer values{window->size()};
    std::ranges::copy(all.values().subspan(own.begin, own.size()), values.values().begin());
    return {values, window};
  }

  /// Of segments that are asked for, one comes.
  bool fetch() {
    auto& parameters = members_.front().work->parameters();
    for (const auto& x : parameters.take_requests()) {
      if (std::erase(asked_, x.segment) == (x.is_needed ? 1u : 0u))
        problem_ = "segment " + std::to_string(x.segment) + " is asked for twice, or let go twice";
      if (x.is_needed)
        asked_.push_back(x.segment);
    }
    if (asked_.size() > fetched_segments_max)
      problem_ = "more segments are fetched than are to be held";
    const auto missing = parameters.missing();
    for (const auto k : asked_) {
      if (std::ranges::count(missing, k) == 0 || one_in(2))
        continue;
      const partition whole{{}, {k, k + 1}, {0, parts_}};
      const element_window window{elements_read(cut_->chain(), whole)};
      const buffer values{window.size() + below(3)};
      const auto all = parameters_of(*cut_);
      for (const auto& run : window.runs())
        std::ranges::copy(all.values().subspan(run.elements.begin, run.elements.size()),
                          values.values().begin() + static_cast<std::ptrdiff_t>(run.place));
      return parameters.on_arrived(k, values);
    }
    return std::ranges::any_of(asked_,
                               [&](size_t k) { return std::ranges::count(missing, k) > 0; });
  }

  bool arrive() {
    if (fetches_)
      return fetch();
    if (under_way_.empty())
      return false;
    const auto at = under_way_.begin() + static_cast<std::ptrdiff_t>(below(under_way_.size()));
    const auto news = *at;
    if (!one_in(8)) // else it comes again
      under_way_.erase(at);
    members_[news.member].work->on_piece(news.piece);
    collect(members_[news.member]);
    return true;
  }

  void collect(member& one) {
    for (auto& news : one.work->take_sent())
      under_way_.push_back(std::move(news));
    for (const auto& item : one.work->take_finished()) {
      auto& found = found_[one.phase - 1];
      found.sums[item.item] = item.sums;
      if (one.phase == 2 && !(item.sums == expected_[1].sums[item.item]))
        problem_ = "a member tells other sums of slice " + std::to_string(item.item);
      if (item.gradient)
        for (const auto& tile : one.work->window(item.bucket).tiles())
          for (size_t i = 0; i < tile.elements.size(); ++i) {
            auto& value = found.gradients[item.item][tile.elements.begin + i];
            if (!std::isnan(value))
              problem_ = "two members have a gradient of one element";
            value = item.gradient.values()[tile.place + i];
          }
    }
  }

  std::string compare_bits() const {
    if (!problem_.empty())
      return problem_;
    for (size_t phase = 0; phase < 2; ++phase)
      for (size_t slice = 0; slice < slice_count_; ++slice)
        if (!(found_[phase].sums[slice] == expected_[phase].sums[slice]))
          return "the sums of slice " + std::to_string(slice) + " have other bits than one actor's";
    for (size_t slice = 0; slice < slice_count_; ++slice)
      if (found_[1].gradients[slice] != expected_[1].gradients[slice])
        return "the gradient of slice " + std::to_string(slice) +
               " has other bits than one actor's";
    return {};
  }

  std::string text() const {
    std::string result =
      "seed " + std::to_string(seed_) + ", cut in " + std::to_string(parts_) + ":";
    for (const auto cut : options_.cuts)
      result += " " + std::string{name_of(cut)};
    return result + ", tensor " + std::to_string(shape_.tensor) + ", pipeline " +
           std::to_string(shape_.pipeline) + ": ";
  }

  std::mt19937_64 random_;
  uint64_t seed_;
  size_t parts_ = 1;
  neural_network_options options_;
  std::shared_ptr<const model> uncut_, cut_;
  std::vector<float> logical_; ///< parameters
  size_t slice_count_ = 1;
  std::vector<index_range> slices_; ///< their rows
  std::vector<float> features_, targets_;
  std::vector<int32_t> labels_;
  grid_shape shape_;
  std::vector<member> members_;
  bool fetches_ = false;      ///< one member computes by segment
  std::vector<size_t> asked_; ///< segments that it holds or waits for
  std::vector<partition_work::sent> under_way_;
  std::vector<outcome> expected_, found_; ///< of the evaluation, of the step
  std::string problem_;
};

} // namespace troupe::test
