#include "coordinators/parallel/tile_rule.hpp"

#include <gtest/gtest.h>

#include <string>

namespace troupe::tile_rule_test {
namespace {

constexpr auto forward = tile_way::forward;
constexpr auto backward = tile_way::backward;
constexpr auto gradient = tile_way::gradient;
constexpr auto one_f_one_b = pipeline_schedule::one_forward_one_backward;
constexpr auto step = tile_rule::work_kind::step;
constexpr auto evaluation = tile_rule::work_kind::evaluation;

/// "F20" is forward of item 2, segment 0; "-" is nothing.
std::string next_of(tile_rule& rule) {
  const auto x = rule.next();
  return x ? "FBG"[static_cast<size_t>(x->way)] + std::to_string(x->item) +
               std::to_string(x->segment)
           : "-";
}

std::string all_of(tile_rule& rule) {
  std::string result;
  for (auto x = next_of(rule); x != "-"; x = next_of(rule))
    result += (result.empty() ? "" : " ") + x;
  return result;
}

/// A rule that has begun a step.
tile_rule begun(const tile_rule_options& options, const std::vector<size_t>& items) {
  tile_rule rule{options};
  rule.begin(step, items);
  return rule;
}

/// What a replica that has all segments computes of a step, each of its tiles being input of the next.
std::string alone(const tile_rule_options& options, const std::vector<size_t>& items) {
  auto rule = begun(options, items);
  std::string result;
  while (const auto x = rule.next()) {
    result += (result.empty() ? "" : " ") + std::string(1, "FBG"[static_cast<size_t>(x->way)]) +
              std::to_string(x->item) + std::to_string(x->segment);
    const bool is_last = x->segment + 1 == options.segments.end;
    if (x->way == forward)
      rule.on_input({x->item, is_last ? x->segment : x->segment + 1, is_last ? backward : forward});
    else if (x->way == backward && x->segment > 0)
      rule.on_input({x->item, x->segment - 1, backward});
  }
  EXPECT_TRUE(rule.done());
  return result;
}

TEST(tile_rule, who_has_everything_does_slice_after_slice_or_segment_after_segment) {
  EXPECT_EQ(alone({{0, 2}, 1, one_f_one_b, {}}, {0, 1}),
            "F00 F01 B01 B00 G00 G01 F10 F11 B11 B10 G10 G11");
  EXPECT_EQ(alone({{0, 1}, 1, pipeline_schedule::gpipe, {}}, {4, 7}), "F40 B40 G40 F70 B70 G70");
  EXPECT_EQ(alone({{0, 3}, 1, one_f_one_b, {2, 1}}, {0}), "F00 F01 F02 B02 B01 B00 G01 G02 G00")
    << "gradients that cross wires go first";
  // Parameters of a segment go when all slices have gone back through it, before its gradients are made.
  EXPECT_EQ(alone({{0, 2}, 1, one_f_one_b, {}, true}, {0, 1}),
            "F00 F10 F01 F11 B01 B11 G01 G11 B00 B10 G00 G10");
}

TEST(tile_rule, without_rows_in_any_slice_there_is_nothing_to_do) {
  auto rule = begun({{0, 2}, 1, one_f_one_b, {}}, {});
  EXPECT_TRUE(rule.done());
  EXPECT_EQ(next_of(rule), "-");
}

TEST(tile_rule, the_first_stage_begins_without_input_and_the_second_with_it) {
  auto first = begun({{0, 1}, 2, one_f_one_b, {}}, {0, 1, 2});
  EXPECT_EQ(all_of(first), "F00 F10") << "two in flight";
  EXPECT_EQ(first.in_flight(), (std::vector<size_t>{0, 1}));
  auto second = begun({{1, 2}, 1, one_f_one_b, {}}, {0, 1, 2});
  EXPECT_EQ(all_of(second), "");
  EXPECT_TRUE(second.on_input({0, 1, forward}));
  EXPECT_EQ(all_of(second), "F01");
}

TEST(tile_rule, a_slice_is_in_flight_until_its_last_gradient) {
  auto rule = begun({{0, 1}, 1, one_f_one_b, {}}, {0, 1});
  EXPECT_EQ(all_of(rule), "F00");
  rule.on_input({0, 0, backward});
  EXPECT_EQ(next_of(rule), "B00");
  EXPECT_EQ(rule.in_flight().size(), 1u);
  EXPECT_EQ(next_of(rule), "G00");
  EXPECT_EQ(rule.in_flight().size(), 0u);
  EXPECT_EQ(next_of(rule), "F10");
  EXPECT_FALSE(rule.done());
  EXPECT_EQ(rule.in_flight_peak(), 1u);
}

TEST(tile_rule, one_forward_one_backward_goes_back_first_and_gpipe_goes_forward_first) {
  const std::pair<tile_rule_options, const char*> rows[] = {
    {{{1, 2}, 3, one_f_one_b, {}}, "B01 F11 G01"}, // what others wait for before what fills gaps
    {{{1, 2}, any_number_in_flight, pipeline_schedule::gpipe, {}}, "F11 B01 G01"}};
  for (const auto& [options, order] : rows) {
    auto rule = begun(options, {0, 1, 2});
    rule.on_input({0, 1, forward});
    EXPECT_EQ(all_of(rule), "F01");
    rule.on_input({1, 1, forward});
    rule.on_input({0, 1, backward});
    EXPECT_EQ(all_of(rule), order);
  }
}

TEST(tile_rule, higher_slices_in_flight_do_not_keep_back_a_lower_one) {
  auto rule = begun({{1, 2}, 2, one_f_one_b, {}}, {0, 1, 2, 3});
  for (const size_t item : {3, 2, 1, 0}) {
    rule.on_input({item, 1, forward});
    EXPECT_EQ(next_of(rule), "F" + std::to_string(item) + "1");
  }
  EXPECT_EQ(rule.in_flight_peak(), 4u) << "bounds count lower ones only";
}

TEST(tile_rule, who_is_in_flight_goes_on_whatever_is_below) {
  auto rule = begun({{1, 3}, 1, one_f_one_b, {}}, {0, 1, 2});
  rule.on_input({1, 1, forward});
  rule.on_input({0, 1, forward});
  EXPECT_EQ(all_of(rule), "F01");
  rule.on_input({1, 2, forward});
  EXPECT_EQ(all_of(rule), "") << "slice 1 has not begun";
  auto other = begun({{1, 3}, 1, one_f_one_b, {}}, {0, 1, 2});
  other.on_input({1, 1, forward});
  EXPECT_EQ(all_of(other), "F11");
  other.on_input({0, 1, forward});
  EXPECT_EQ(all_of(other), "F01");
  other.on_input({1, 2, forward});
  EXPECT_EQ(all_of(other), "F12");
}

TEST(tile_rule, input_counts_once) {
  auto rule = begun({{1, 2}, 1, one_f_one_b, {}}, {0, 1});
  EXPECT_TRUE(rule.on_input({0, 1, forward}));
  EXPECT_FALSE(rule.on_input({0, 1, forward}));
  EXPECT_EQ(all_of(rule), "F01");
  EXPECT_FALSE(rule.on_input({0, 1, forward})) << "also when it was used";
  EXPECT_TRUE(rule.on_input({0, 1, backward}));
  EXPECT_FALSE(rule.on_input({0, 1, backward}));
  EXPECT_EQ(all_of(rule), "B01 G01");
  EXPECT_FALSE(rule.on_input({0, 1, backward}));
  EXPECT_EQ(all_of(rule), "");
}

TEST(tile_rule, input_of_others_is_not_needed) {
  auto rule = begun({{1, 2}, 1, one_f_one_b, {}}, {1});
  EXPECT_FALSE(rule.on_input({0, 1, forward})) << "another's slice";
  EXPECT_FALSE(rule.on_input({1, 0, forward})) << "another's segment";
  EXPECT_FALSE(rule.on_input({1, 2, backward}));
  EXPECT_FALSE(rule.on_input({1, 1, gradient})) << "a gradient has no input";
  EXPECT_EQ(all_of(rule), "");
}

// Who takes another's place is told what the others kept, in any order.
TEST(tile_rule, a_derivative_waits_for_its_own_forward) {
  auto rule = begun({{1, 3}, 1, one_f_one_b, {}}, {0});
  rule.on_input({0, 1, backward});
  rule.on_input({0, 2, backward});
  EXPECT_EQ(all_of(rule), "");
  rule.on_input({0, 2, forward});
  EXPECT_EQ(all_of(rule), "F02 B02 G02");
  rule.on_input({0, 1, forward});
  EXPECT_EQ(all_of(rule), "F01 B01 G01");
  EXPECT_TRUE(rule.done());
}

TEST(tile_rule, an_evaluation_goes_forward_only) {
  tile_rule rule{{{0, 2}, 2, one_f_one_b, {}}};
  rule.begin(evaluation, {5, 6, 7});
  EXPECT_EQ(all_of(rule), "F50 F60");
  EXPECT_FALSE(rule.on_input({5, 0, backward}));
  rule.on_input({5, 1, forward});
  EXPECT_EQ(next_of(rule), "F51");
  EXPECT_EQ(rule.in_flight().size(), 1u) << "done with its last segment";
  EXPECT_EQ(all_of(rule), "F70");
  rule.on_input({6, 1, forward});
  rule.on_input({7, 1, forward});
  EXPECT_EQ(all_of(rule), "F61 F71");
  EXPECT_TRUE(rule.done());
}

TEST(tile_rule, the_next_step_knows_nothing_of_the_one_before) {
  auto rule = begun({{1, 2}, 1, one_f_one_b, {}}, {0, 1});
  rule.on_input({0, 1, forward});
  rule.on_input({1, 1, forward});
  rule.on_input({0, 1, backward});
  EXPECT_EQ(next_of(rule), "F01");
  rule.begin(step, {0, 1});
  EXPECT_EQ(rule, begun({{1, 2}, 1, one_f_one_b, {}}, {0, 1}));
}

TEST(tile_rule, a_view_takes_and_brings_items) {
  auto rule = begun({{0, 1}, 2, one_f_one_b, {}}, {0, 1, 2});
  EXPECT_EQ(all_of(rule), "F00 F10");
  rule.on_input({0, 0, backward});
  rule.set_items({1, 3});
  EXPECT_EQ(rule.in_flight().size(), 1u) << "slice 0 is another's now";
  EXPECT_EQ(all_of(rule), "F30");
  rule.set_items({0, 1, 3});
  EXPECT_EQ(all_of(rule), "F00") << "its derivative is to be reported again";
  rule.set_items({0, 1, 3});
  EXPECT_EQ(all_of(rule), "");
}

TEST(tile_rule, a_slice_that_has_gone_keeps_nobody_back) {
  auto rule = begun({{0, 1}, 1, one_f_one_b, {}}, {0, 1});
  EXPECT_EQ(all_of(rule), "F00");
  rule.set_items({1});
  EXPECT_EQ(all_of(rule), "F10");
}

TEST(tile_rule, what_cannot_be_is_refused) {
  EXPECT_THROW(tile_rule({{2, 2}, 1, one_f_one_b, {}}), std::invalid_argument);
  EXPECT_THROW(tile_rule({{0, 1}, 0, one_f_one_b, {}}), std::invalid_argument);
  tile_rule rule{{{0, 1}, 1, one_f_one_b, {}}};
  EXPECT_THROW(rule.begin(step, {1, 0}), std::invalid_argument);
  EXPECT_THROW(rule.begin(step, {1, 1}), std::invalid_argument);
}

TEST(tile_rule, bounds_of_schedules) {
  const auto gpipe = pipeline_schedule::gpipe;
  EXPECT_EQ(in_flight_bound(one_f_one_b, {0, 4, 1}), 4u);
  EXPECT_EQ(in_flight_bound(one_f_one_b, {3, 4, 1}), 1u);
  EXPECT_EQ(in_flight_bound(one_f_one_b, {0, 4, 2}), 4u);
  EXPECT_EQ(in_flight_bound(one_f_one_b, {3, 4, 2}), 2u);
  EXPECT_EQ(in_flight_bound(gpipe, {3, 4, 1}), any_number_in_flight);
  for (const auto any : {one_f_one_b, gpipe}) {
    EXPECT_EQ(in_flight_bound(any, {0, 1, 1}), 1u);
    EXPECT_EQ(in_flight_bound(any, {0, 1, 4}), 2u);
  }
}

TEST(tile_rule, schedules_have_names) {
  EXPECT_EQ(name_of(one_f_one_b), "1f1b");
  EXPECT_EQ(from_name<pipeline_schedule>("gpipe"), pipeline_schedule::gpipe);
  EXPECT_EQ(all_names<pipeline_schedule>(), "1f1b, gpipe");
}

TEST(tile_rule, a_segment_whose_parameters_are_missing_waits_and_gradients_do_not) {
  auto rule = begun({{0, 2}, 1, one_f_one_b, {}, true}, {0});
  EXPECT_EQ(rule.next({0, 1}), std::nullopt);
  EXPECT_EQ(next_of(rule), "F00");
  rule.on_input({0, 1, forward});
  EXPECT_EQ(rule.next({1}), std::nullopt);
  EXPECT_EQ(next_of(rule), "F01");
  rule.on_input({0, 1, backward});
  EXPECT_EQ(rule.next({1}), std::nullopt);
  EXPECT_EQ(next_of(rule), "B01");
  rule.on_input({0, 0, backward});
  EXPECT_EQ(rule.next({0, 1}), (tile{0, 1, gradient}));
  EXPECT_EQ(rule.next({0}), std::nullopt);
  EXPECT_EQ(next_of(rule), "B00");
}

} // namespace
} // namespace troupe::tile_rule_test
