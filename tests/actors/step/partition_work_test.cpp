// A model carried by a group of replicas: the bits of the one that is whole, whatever the group, the
// order of the pieces and of the work.

#include "coordinators/parallel/group_plan.hpp"
#include "tests/simulation/dice.hpp"
#include "tests/support/part_company.hpp"
#include "tests/support/walk/partition_walk.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

namespace troupe::partition_work_test {
namespace {

using namespace test;

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

// A group's plan is what its replicas count when they do it: bytes of each link and way and of
// gradients exactly, memory from above.

struct placement {
  const char* letters; ///< how layers are cut, as network_of_letters has it
  size_t parts = 1;
  grid_shape shape;
  pipeline_schedule schedule{};
  loss_kind loss = loss_kind::categorical_cross_entropy;
  double dropout = 0;
};

constexpr auto one_by_one = pipeline_schedule::one_forward_one_backward;
constexpr auto gpipe = pipeline_schedule::gpipe;

const std::vector<placement> placements{
  {"OIN", 2, {1, 2, 1}},
  {"OIN", 4, {1, 3, 1}},                                       // uneven, sums of two parts
  {"OIO", 4, {1, 4, 1}},                                       // split scores
  {"OIO", 4, {1, 2, 2}, one_by_one, loss_kind::squared},       // without figures
  {"IOI", 4, {1, 2, 2}, gpipe},                                // first cut by inputs
  {"NOIN", 3, {1, 3, 3}, one_by_one, loss_kind::squared, 0.2}, // dropout
  {"OIOI", 4, {1, 4, 2}, one_by_one},                          // two pairs
  {"NNN", 1, {1, 1, 3}, one_by_one},                           // a pipeline alone
  {"NNN", 1, {1, 1, 3}, gpipe, loss_kind::huber},
  {"INO", 64, {1, 4, 3}, one_by_one}, // parts without units
  {"OIN", 4, {1, 1, 1}},              // one has everything
};

std::string text_of(const placement& x) {
  return std::string{x.letters} + ", tensor " + std::to_string(x.shape.tensor) + ", pipeline " +
         std::to_string(x.shape.pipeline) + ", " + std::string{name_of(x.schedule)};
}

split_problem problem_of(const placement& x) {
  auto options = network_of_letters(x.loss, x.letters, x.parts);
  options.dropout = x.dropout;
  return split_problem{options};
}

group_plan plan_of(const part_company& company, const placement& x) {
  group_work work;
  work.members = company.group;
  work.schedule = x.schedule;
  for (size_t slice = 0; slice < slice_count; ++slice)
    work.slice_rows.push_back(company.problem_.rows_in(slice));
  return plan_group(*company.problem_.network, work);
}

using bytes_by_link = std::map<part_company::link, uint64_t>;

bytes_by_link planned_bytes(const group_plan& plan) {
  bytes_by_link result;
  for (const auto& link : plan.links)
    for (const auto way : {boundary_way::forward, boundary_way::backward, boundary_way::figures})
      if (const auto bytes = link.bytes[static_cast<size_t>(way)]; bytes > 0)
        result[{link.from, link.to, way}] = bytes;
  return result;
}

/// Memory from above; of a slice closely, where all have as many rows.
void expect_memory(const part_company& company, const group_plan& plan, const std::string& where) {
  for (size_t i = 0; i < plan.replicas.size(); ++i) {
    const auto member = where + ", member " + std::to_string(i);
    const auto& planned = plan.replicas[i];
    const auto counted = company.members[i]->counted();
    EXPECT_EQ(company.members[i]->window().size() * sizeof(float), planned.slice_gradient_bytes)
      << member;
    EXPECT_LE(counted.in_flight_peak, planned.slices_held) << member;
    EXPECT_LE(counted.items_held, planned.slices_held) << member;
    const auto workspace = counted.workspace_bytes / counted.items_held;
    EXPECT_LE(workspace, planned.slice_activation_bytes) << member;
    EXPECT_GE(1.15 * static_cast<double>(workspace),
              static_cast<double>(planned.slice_activation_bytes))
      << member;
    EXPECT_LE(counted.buffer_bytes,
              planned.slices_held * (planned.slice_gradient_bytes + planned.slice_boundary_bytes))
      << member;
  }
}

/// What a company that keeps the order of messages counts, and its plan.
template <class Compare>
void compare(size_t rows_in_shorter, const Compare& expect) {
  for (const auto& x : placements) {
    auto problem = problem_of(x);
    problem.rows_in_shorter = rows_in_shorter;
    for (uint64_t seed = 0; seed < 20; ++seed) {
      part_company company{problem, x.shape, x.schedule, seed};
      company.keeps_order = true;
      company.run(tile_rule::work_kind::step);
      expect(company, plan_of(company, x), text_of(x) + ", seed " + std::to_string(seed));
    }
  }
}

TEST(plan_counters, as_many_bytes_go_over_each_link_as_planned) {
  compare(1, [](const part_company& company, const group_plan& plan, const std::string& where) {
    EXPECT_EQ(company.bytes, planned_bytes(plan)) << where;
  });
}

TEST(plan_counters, as_much_is_held_as_planned) {
  compare(test::row_count, expect_memory);
}

} // namespace
} // namespace troupe::partition_work_test
