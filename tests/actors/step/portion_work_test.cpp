// A model carried by a group of replicas: the bits of the one that is whole, whatever the group, the
// order of the pieces and of the work.

#include "troupe/actors/step/portion_work.hpp"

#include "troupe/coordinators/parallel/grid.hpp"
#include "troupe/models/base/random.hpp"
#include "troupe/models/network/neural_network.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace troupe {

namespace {

constexpr size_t slice_count = 5;
constexpr size_t row_count = 9;

struct problem {
  explicit problem(const neural_network_options& options)
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
    // One slice is shorter, down to a single row.
    return part_of(all, slice * row_count, slice == 2 ? 1 : row_count);
  }

  std::shared_ptr<const model> network;
  std::vector<float> features, targets;
  std::vector<int32_t> labels;
  const_buffer parameters;
};

struct outcome {
  std::vector<std::vector<float>> gradients; ///< by slice
  std::vector<batch_sums> sums;
  friend bool operator==(const outcome&, const outcome&) = default;
};

outcome whole(const problem& x, tile_rule::work_kind kind) {
  outcome result;
  workspace memory;
  for (size_t slice = 0; slice < slice_count; ++slice) {
    if (kind == tile_rule::work_kind::evaluation) {
      result.sums.push_back(x.network->evaluate(x.parameters.values(), x.rows_of(slice), memory));
      continue;
    }
    result.gradients.emplace_back(x.network->layout().size());
    result.sums.push_back(x.network->gradient(x.parameters.values(), x.rows_of(slice),
                                              result.gradients.back(), memory));
  }
  return result;
}

/// A group, and what its members have sent each other so far.
struct company_of_parts {
  company_of_parts(const problem& x, const grid_shape& shape, pipeline_schedule schedule,
                   uint64_t seed)
    : problem_(x), random(seed) {
    grid_work work{slice_count, x.network->chain().part_count(), {}, {}};
    for (size_t k = 0; k < x.network->chain().size(); ++k)
      work.segment_costs.push_back(x.network->chain().in_width(k) *
                                   x.network->chain().out_width(k));
    auto group = place_portions(shape, work, shape.group_size());
    for (size_t i = 0; i < group.size(); ++i)
      members.push_back(
        std::make_unique<portion_work>(portion_work_options{x.network, group, i, schedule}));
  }

  void begin(size_t member, tile_rule::work_kind kind, uint64_t version) {
    const std::vector<size_t> items{0, 1, 2, 3, 4};
    members[member]->begin(kind, version, items, problem_.parameters,
                           [this](size_t slice, batch_reader&) { return problem_.rows_of(slice); });
  }

  /// One thing happens: somebody computes a tile, or a piece arrives. Pieces may overtake each other.
  bool happen() {
    std::vector<size_t> order(members.size() + 1);
    std::iota(order.begin(), order.end(), 0);
    std::ranges::shuffle(order, random);
    for (const auto who : order) {
      if (who < members.size() && members[who]->compute_next())
        return collect(who), true;
      if (who < members.size() || under_way.empty())
        continue;
      const auto at = under_way.begin() + static_cast<long>(random() % under_way.size());
      const auto news = *at;
      if (random() % 8 > 0) // else it comes again
        under_way.erase(at);
      members[news.member]->on_piece(news.piece);
      collect(news.member);
      return true;
    }
    return false;
  }

  void collect(size_t who) {
    for (auto& news : members[who]->take_sent())
      under_way.push_back(news);
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

  outcome run(tile_rule::work_kind kind, uint64_t version = 3) {
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

  const problem& problem_;
  std::mt19937_64 random;
  std::vector<std::unique_ptr<portion_work>> members;
  std::vector<portion_work::sent> under_way;
  outcome result;
};

neural_network_options options_of(loss_kind loss, std::string_view word, size_t parts) {
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

void expect_same_bits(const problem& x, const std::string& what) {
  const auto step = whole(x, tile_rule::work_kind::step);
  const auto evaluation = whole(x, tile_rule::work_kind::evaluation);
  const auto parts = x.network->chain().part_count();
  for (size_t a = 1; a <= parts; ++a)
    for (size_t p = 1; p <= std::min<size_t>(x.network->chain().size(), 3); ++p)
      for (const auto schedule :
           {pipeline_schedule::one_forward_one_backward, pipeline_schedule::gpipe})
        for (uint64_t seed = 0; seed < 3; ++seed) {
          company_of_parts company{x, {1, a, p}, schedule, seed};
          const auto where = what + ", tensor " + std::to_string(a) + ", pipeline " +
                             std::to_string(p) + ", seed " + std::to_string(seed);
          ASSERT_EQ(company.run(tile_rule::work_kind::evaluation), evaluation) << where;
          ASSERT_EQ(company.run(tile_rule::work_kind::step), step) << where;
        }
}

} // namespace

TEST(portion_work, a_group_has_the_bits_of_one_for_every_cut_and_loss) {
  for (const auto loss :
       {loss_kind::categorical_cross_entropy, loss_kind::squared, loss_kind::poisson})
    for (const auto* word : {"OIN", "OIO", "IOI", "NOIN", "OIOI", "INO"}) {
      const problem x{options_of(loss, word, 4)};
      expect_same_bits(x, std::string{word} + ", " + std::string{name_of(loss)});
    }
}

TEST(portion_work, whatever_is_trained_has_the_bits_of_one) {
  auto dropping = options_of(loss_kind::categorical_cross_entropy, "OINOI", 4);
  dropping.dropout = 0.3;
  expect_same_bits(problem{dropping}, "dropout");
  auto weighted = options_of(loss_kind::categorical_cross_entropy, "OIO", 4);
  weighted.loss.class_weights = {1, 2, 3, 0.5f, 0, 1};
  expect_same_bits(problem{weighted}, "class weights");
  auto plain = options_of(loss_kind::huber, "OIIO", 3);
  plain.cuts[2] = layer_cut::none;
  plain.bias = false;
  plain.activation = activation_kind::relu;
  expect_same_bits(problem{plain}, "without bias");
  auto uncut = options_of(loss_kind::squared, "NNNN", 1);
  uncut.dropout = 0.2;
  expect_same_bits(problem{uncut}, "uncut");
}

// More parts than units: some do not exist, and whoever carries one of those has little to do.
TEST(portion_work, parts_may_be_uneven_and_empty) {
  for (const auto* word : {"OI", "IO", "OIO", "NO"}) {
    auto options = options_of(loss_kind::categorical_cross_entropy, word, 5);
    options.hidden.assign(options.hidden.size(), 3);
    options.outputs = 4;
    expect_same_bits(problem{options}, std::string{"few units, "} + word);
  }
}

TEST(portion_work, pieces_of_a_later_step_are_kept_until_it_begins) {
  const problem x{options_of(loss_kind::squared, "NN", 1)};
  company_of_parts company{x, {1, 1, 2}, {}, 1};
  company.result.sums.resize(slice_count);
  company.result.gradients.assign(slice_count, std::vector<float>(x.network->layout().size()));
  company.begin(1, tile_rule::work_kind::evaluation, 3);
  company.begin(0, tile_rule::work_kind::step, 3); // the first stage is ahead
  while (company.happen())
    ;
  EXPECT_FALSE(company.members[1]->is_done());
  company.begin(0, tile_rule::work_kind::evaluation, 3);
  while (company.happen())
    ;
  EXPECT_TRUE(company.members[1]->is_done());
  company.begin(1, tile_rule::work_kind::step, 3);
  company.begin(0, tile_rule::work_kind::step, 3);
  while (company.happen())
    ;
  EXPECT_TRUE(company.members[0]->is_done() && company.members[1]->is_done());
  EXPECT_EQ(company.result.gradients, whole(x, tile_rule::work_kind::step).gradients);
}

TEST(portion_work, rows_of_another_shape_are_refused) {
  const problem x{options_of(loss_kind::squared, "NN", 1)};
  company_of_parts company{x, {1, 1, 2}, {}, 1};
  company.begin(1, tile_rule::work_kind::step, 3);
  seam_piece piece;
  piece.name = {3, false, 0, 0, seam_way::forward};
  piece.is_complete = true;
  piece.rows = {0, row_count};
  piece.values = {buffer{7}, 0, 7};
  EXPECT_THROW(company.members[1]->on_piece(piece), std::invalid_argument);
}

TEST(portion_work, a_stage_keeps_no_more_slices_than_stages_are_left) {
  const problem x{options_of(loss_kind::squared, "NNN", 1)};
  company_of_parts company{x, {1, 1, 3}, pipeline_schedule::one_forward_one_backward, 4};
  company.run(tile_rule::work_kind::step);
  for (size_t stage = 0; stage < 3; ++stage)
    EXPECT_LE(company.members[stage]->in_flight_peak(), 3 - stage);
  company_of_parts all{x, {1, 1, 3}, pipeline_schedule::gpipe, 4};
  all.run(tile_rule::work_kind::step);
  EXPECT_GT(all.members[0]->in_flight_peak(), 3u);
}

} // namespace troupe
