// A model carried by a group of replicas in one thread: whose turn it is, and which piece arrives next,
// is drawn from a seed.

#pragma once

#include "actors/step/partition_work.hpp"
#include "coordinators/parallel/grid.hpp"
#include "models/base/random.hpp"
#include "models/network/neural_network.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <random>
#include <string_view>
#include <tuple>

namespace troupe::test {

inline constexpr size_t slice_count = 5;
inline constexpr size_t row_count = 9;

struct split_problem {
  explicit split_problem(const neural_network_options& options)
    : network(std::make_shared<neural_network>(options)),
      features(slice_count * row_count * options.features),
      targets(slice_count * row_count * options.outputs) {
    fill_normal({1, random_purpose::synthetic_features, 0}, 0, 1, features);
    fill_normal({1, random_purpose::synthetic_targets, 0}, 0, 1, targets);
    for (auto& target : targets)
      target = std::abs(target) + 0.1f;
    for (size_t i = 0; i < slice_count * row_count; ++i)
      labels.push_back(static_cast<int32_t>((i * 7 + 3) % options.outputs));
    const buffer values{network->layout().size()};
    fill_normal({2, random_purpose::initialization, 0}, 0, 0.3f, values.values());
    parameters = values;
  }

  size_t rows_in(size_t slice) const { return slice == 2 ? rows_in_shorter : row_count; }

  batch rows_of(size_t slice) const {
    batch all;
    all.row_count = slice_count * row_count;
    all.features = features;
    if (is_classification(network->loss()))
      all.labels = labels;
    else
      all.targets = targets;
    all.seed = 5;
    all.step = 3;
    return part_of(all, slice * row_count, rows_in(slice));
  }

  size_t rows_in_shorter = 1; ///< of slice 2
  std::shared_ptr<const model> network;
  std::vector<float> features, targets;
  std::vector<int32_t> labels;
  const_buffer parameters;
};

struct split_outcome {
  std::vector<std::vector<float>> gradients; ///< by slice
  std::vector<batch_sums> sums;
  friend bool operator==(const split_outcome&, const split_outcome&) = default;
};

/// 12 features, 6 outputs, a layer for each letter: O for one cut by outputs, I by inputs, N whole.
inline neural_network_options network_of_letters(loss_kind loss, std::string_view word,
                                                 size_t parts) {
  neural_network_options options{12, 6, {}, activation_kind::gelu, loss};
  for (size_t i = 0; i + 1 < word.size(); ++i)
    options.hidden.push_back(10 + 3 * i);
  for (const char letter : word)
    options.cuts.push_back(letter == 'O'   ? layer_cut::outputs
                           : letter == 'I' ? layer_cut::inputs
                                           : layer_cut::none);
  options.parts = parts;
  return options;
}

/// A group, and what its members have sent each other so far.
struct part_company {
  /// From, to, which way.
  using link = std::tuple<size_t, size_t, boundary_way>;

  part_company(const split_problem& x, const grid_shape& shape, pipeline_schedule schedule,
               uint64_t seed)
    : problem_(x), random(seed) {
    grid_work work{slice_count, x.network->chain().part_count(), {}, {}};
    for (size_t k = 0; k < x.network->chain().size(); ++k)
      work.segment_costs.push_back(x.network->chain().in_width(k) *
                                   x.network->chain().out_width(k));
    group = place_partitions(shape, work, shape.group_size());
    for (size_t i = 0; i < group.size(); ++i)
      members.push_back(
        std::make_unique<partition_work>(partition_work_options{x.network, group, i, schedule}));
  }

  void begin(size_t member, tile_rule::work_kind kind, uint64_t version) {
    const std::vector<size_t> items{0, 1, 2, 3, 4};
    members[member]->begin(kind, version, items, problem_.parameters,
                           [this](size_t slice, batch_reader&) { return problem_.rows_of(slice); });
  }

  /// One thing happens: somebody computes a tile, or a piece arrives.
  bool happen() {
    std::vector<size_t> order(members.size() + 1);
    std::iota(order.begin(), order.end(), 0);
    std::ranges::shuffle(order, random);
    for (const auto who : order) {
      if (who < members.size() && members[who]->compute_next())
        return collect(who), true;
      if (who < members.size() || under_way.empty())
        continue;
      deliver();
      return true;
    }
    return false;
  }

  void deliver() {
    auto at = under_way.begin() + static_cast<long>(random() % under_way.size());
    if (keeps_order)
      at = std::ranges::find_if(under_way, [&](const piece_under_way& other) {
        return other.from == at->from && other.news.member == at->news.member;
      });
    const auto news = at->news;
    if (keeps_order || random() % 8 > 0) // else it comes again
      under_way.erase(at);
    if (!carry)
      return take(news.member, news.piece);
    for (const auto& piece : carry(news))
      take(news.member, piece);
  }

  void take(size_t who, const boundary_piece& piece) {
    members[who]->on_piece(piece);
    collect(who);
  }

  void collect(size_t who) {
    for (auto& news : members[who]->take_sent()) {
      if (news.piece.values.size() > 0)
        bytes[{who, news.member, news.piece.name.way}] += news.piece.values.size() * sizeof(float);
      under_way.push_back({who, news});
    }
    for (auto& item : members[who]->take_finished()) {
      EXPECT_TRUE(result.sums[item.item] == batch_sums{} || result.sums[item.item] == item.sums)
        << "all say the same";
      result.sums[item.item] = item.sums;
      if (item.gradient)
        for (const auto& run : members[who]->window().runs())
          std::ranges::copy(item.gradient.values().subspan(run.place, run.elements.size()),
                            result.gradients[item.item].begin() +
                              static_cast<long>(run.elements.begin));
    }
  }

  split_outcome run(tile_rule::work_kind kind, uint64_t version = 3) {
    result = {};
    result.sums.resize(slice_count);
    if (kind == tile_rule::work_kind::step)
      result.gradients.assign(slice_count,
                              std::vector<float>(problem_.network->layout().size(), NAN));
    for (size_t i = 0; i < members.size(); ++i)
      begin(i, kind, version);
    while (happen())
      ;
    for (const auto& member : members)
      EXPECT_TRUE(member->is_done());
    return result;
  }

  struct piece_under_way {
    size_t from = 0;
    partition_work::sent news;
  };

  const split_problem& problem_;
  std::mt19937_64 random;
  /// What one member sends another arrives in order and once, as messages between actors do. Else
  /// pieces overtake each other and come twice.
  bool keeps_order = false;
  /// What comes out at the other end of whatever pieces travel by; none: the piece itself.
  std::function<std::vector<boundary_piece>(const partition_work::sent&)> carry;
  std::vector<partition> group;
  std::vector<std::unique_ptr<partition_work>> members;
  std::vector<piece_under_way> under_way;
  std::map<link, uint64_t> bytes; ///< sent
  split_outcome result;
};

} // namespace troupe::test
