// A model carried by a group of replicas: the bits of the one that is whole, whatever the group, the
// order of the pieces and of the work.

#include "tests/simulation/dice.hpp"
#include "tests/support/part_company.hpp"
#include "tests/support/walk/partition_walk.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

namespace troupe::partition_work_test {

namespace {

using test::network_of_letters;
using test::part_company;
using test::slice_count;
using test::split_outcome;
using test::split_problem;

split_outcome whole(const split_problem& x, tile_rule::work_kind kind) {
  split_outcome result;
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

void expect_same_bits(const split_problem& x, const std::string& what) {
  const auto step = whole(x, tile_rule::work_kind::step);
  const auto evaluation = whole(x, tile_rule::work_kind::evaluation);
  const auto parts = x.network->chain().part_count();
  for (size_t a = 1; a <= parts; ++a)
    for (size_t p = 1; p <= std::min<size_t>(x.network->chain().size(), 3); ++p)
      for (const auto schedule :
           {pipeline_schedule::one_forward_one_backward, pipeline_schedule::gpipe})
        for (uint64_t seed = 0; seed < 3; ++seed) {
          part_company company{x, {1, a, p}, schedule, seed};
          const auto where = what + ", tensor " + std::to_string(a) + ", pipeline " +
                             std::to_string(p) + ", seed " + std::to_string(seed);
          ASSERT_EQ(company.run(tile_rule::work_kind::evaluation), evaluation) << where;
          ASSERT_EQ(company.run(tile_rule::work_kind::step), step) << where;
        }
}

} // namespace

TEST(partition_work, a_group_has_the_bits_of_one_for_every_cut_and_loss) {
  for (const auto loss :
       {loss_kind::categorical_cross_entropy, loss_kind::squared, loss_kind::poisson})
    for (const auto* word : {"OIN", "OIO", "IOI", "NOIN", "OIOI", "INO"}) {
      const split_problem x{network_of_letters(loss, word, 4)};
      expect_same_bits(x, std::string{word} + ", " + std::string{name_of(loss)});
    }
}

TEST(partition_work, whatever_is_trained_has_the_bits_of_one) {
  auto dropping = network_of_letters(loss_kind::categorical_cross_entropy, "OINOI", 4);
  dropping.dropout = 0.3;
  expect_same_bits(split_problem{dropping}, "dropout");
  auto weighted = network_of_letters(loss_kind::categorical_cross_entropy, "OIO", 4);
  weighted.loss.class_weights = {1, 2, 3, 0.5f, 0, 1};
  expect_same_bits(split_problem{weighted}, "class weights");
  auto plain = network_of_letters(loss_kind::huber, "OIIO", 3);
  plain.cuts[2] = layer_cut::none;
  plain.bias = false;
  plain.activation = activation_kind::relu;
  expect_same_bits(split_problem{plain}, "without bias");
  auto uncut = network_of_letters(loss_kind::squared, "NNNN", 1);
  uncut.dropout = 0.2;
  expect_same_bits(split_problem{uncut}, "uncut");
}

// More parts than units: some do not exist, and whoever carries one of those has little to do.
TEST(partition_work, parts_may_be_uneven_and_empty) {
  for (const auto* word : {"OI", "IO", "OIO", "NO"}) {
    auto options = network_of_letters(loss_kind::categorical_cross_entropy, word, 5);
    options.hidden.assign(options.hidden.size(), 3);
    options.outputs = 4;
    expect_same_bits(split_problem{options}, std::string{"few units, "} + word);
  }
}

TEST(partition_work, pieces_of_a_later_step_are_kept_until_it_begins) {
  const split_problem x{network_of_letters(loss_kind::squared, "NN", 1)};
  part_company company{x, {1, 1, 2}, {}, 1};
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

// Training may be told to end where one has begun a step and the other has not.
TEST(partition_work, an_evaluation_may_come_in_place_of_a_step_that_was_begun) {
  const split_problem x{network_of_letters(loss_kind::squared, "OI", 4)};
  part_company company{x, {1, 2, 1}, {}, 1};
  company.result.sums.resize(slice_count);
  company.begin(0, tile_rule::work_kind::step, 3);
  company.begin(1, tile_rule::work_kind::evaluation, 3);
  while (company.happen())
    ;
  EXPECT_FALSE(company.members[0]->is_done() || company.members[1]->is_done());
  company.members[0]->abandon();
  EXPECT_TRUE(company.members[0]->is_done());
  company.begin(0, tile_rule::work_kind::evaluation, 3);
  while (company.happen())
    ;
  EXPECT_TRUE(company.members[0]->is_done() && company.members[1]->is_done());
  EXPECT_EQ(company.result.sums, whole(x, tile_rule::work_kind::evaluation).sums);
}

TEST(partition_work, rows_of_another_shape_are_refused) {
  const split_problem x{network_of_letters(loss_kind::squared, "NN", 1)};
  part_company company{x, {1, 1, 2}, {}, 1};
  company.begin(1, tile_rule::work_kind::step, 3);
  boundary_piece piece;
  piece.name = {3, false, 0, 0, boundary_way::forward};
  piece.is_complete = true;
  piece.rows = {0, test::row_count};
  piece.values = {buffer{7}, 0, 7};
  EXPECT_THROW(company.members[1]->on_piece(piece), std::invalid_argument);
}

TEST(partition_work, a_stage_keeps_no_more_slices_than_stages_are_left) {
  const split_problem x{network_of_letters(loss_kind::squared, "NNN", 1)};
  part_company company{x, {1, 1, 3}, pipeline_schedule::one_forward_one_backward, 4};
  company.run(tile_rule::work_kind::step);
  for (size_t stage = 0; stage < 3; ++stage)
    EXPECT_LE(company.members[stage]->counted().in_flight_peak, 3 - stage);
  part_company all{x, {1, 1, 3}, pipeline_schedule::gpipe, 4};
  all.run(tile_rule::work_kind::step);
  EXPECT_GT(all.members[0]->counted().in_flight_peak, 3u);
}

// Groups of replicas that share a model, by seeds. TROUPE_GROUP_SEEDS=0..100000 runs those seeds; a
// failure names the one that repeats it.
TEST(partition_walk, groups_drawn_by_seed_have_the_bits_of_one_actor) {
  const char* text = std::getenv("TROUPE_GROUP_SEEDS");
  const auto seeds = simulation::read_seeds(text == nullptr ? "0..3000" : text);
  ASSERT_TRUE(seeds) << "TROUPE_GROUP_SEEDS is FIRST..BEHIND_THE_LAST";
  for (auto seed = seeds->first; seed < seeds->last; ++seed)
    ASSERT_EQ(test::partition_walk{seed}.run(), "") << "TROUPE_GROUP_SEEDS=" << seed;
}

} // namespace troupe::partition_work_test
