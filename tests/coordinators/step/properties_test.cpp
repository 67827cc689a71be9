// What holds for any input of the rules: properties on drawn cases, shrunk when they fail.

#include "coordinators/job/stop_rule.hpp"
#include "coordinators/step/placement.hpp"
#include "coordinators/step/replica_rule.hpp"
#include "coordinators/step/shard_rule.hpp"
#include "coordinators/step/sums_rule.hpp"
#include "tests/support/traced.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <array>
#include <numeric>

namespace troupe::properties_test {
namespace {

using test::sum_along_tree;
using test::traced;
using indices = std::vector<uint8_t>;

/// Any job of at most 40 rows and 17 slices.
timeline draw_plan() {
  timeline plan;
  plan.row_count = *rc::gen::inRange<size_t>(1, 41);
  plan.batch_size = *rc::gen::inRange<size_t>(1, plan.row_count + 1);
  plan.slice_count = *rc::gen::inRange<size_t>(1, 18);
  plan.epoch_count = *rc::gen::inRange<size_t>(1, 4);
  plan.evaluate_every = *rc::gen::inRange<size_t>(0, 3);
  return plan;
}

template <class Property>
void expect(Property property) {
  EXPECT_TRUE(rc::check(property));
}

TEST(properties, largest_nodes_cover_a_range_and_no_two_of_them_are_siblings) {
  expect([] {
    const auto count = *rc::gen::inRange<size_t>(1, 40);
    const auto begin = *rc::gen::inRange<size_t>(0, count);
    const auto end = *rc::gen::inRange<size_t>(begin + 1, count + 1);
    const auto nodes = largest_nodes(count, {begin, end});
    auto next = begin;
    for (const auto& node : nodes) {
      RC_ASSERT(node.begin == next && is_tree_node(count, node));
      next = node.end;
    }
    RC_ASSERT(next == end);
    for (size_t i = 1; i < nodes.size(); ++i)
      RC_ASSERT(!is_tree_node(count, {nodes[i - 1].begin, nodes[i].end}));
  });
}

TEST(properties, a_step_of_any_job_adds_in_one_order_whoever_combined_what) {
  expect([](const indices& cuts) {
    const auto plan = draw_plan();
    const auto sum_of = [&](const tree_node& node) {
      return sum_along_tree(node.begin, node.end,
                            [&](size_t i) { return plan.slice_exists(0, i); });
    };
    shard_rule rule{plan};
    std::vector<traced> values;
    const auto offer = [&](const tree_node& node) {
      const auto result = rule.offer(0, node, 0);
      if (result.verdict != offer_verdict::accepted)
        return;
      const auto at = values.begin() + static_cast<std::ptrdiff_t>(result.position);
      values.insert(values.erase(at, at + static_cast<std::ptrdiff_t>(result.dropped)),
                    sum_of(node));
    };
    for (size_t i = 0; i + 1 < cuts.size(); i += 2) {
      const auto [begin, end] =
        std::minmax({cuts[i] % plan.slice_count, cuts[i + 1] % plan.slice_count});
      for (const auto& node : largest_nodes(plan.slice_count, {begin, end + 1}))
        offer(node);
    }
    for (size_t i = plan.slice_count; i-- > 0;)
      offer({i, i + 1});
    const auto program = rule.complete();
    RC_ASSERT(program.has_value());
    RC_ASSERT(evaluate_plan(*program, values) == sum_of({0, plan.slice_count}));
  });
}

TEST(properties, slices_partition_the_rows_and_steps_the_epoch) {
  expect([] {
    const auto plan = draw_plan();
    size_t next = 0;
    for (uint64_t step = 0; step < plan.steps_in_epoch(); ++step) {
      RC_ASSERT(plan.rows_of(step).begin == next && !plan.rows_of(step).empty());
      for (size_t slice = 0; slice < plan.slice_count; ++slice) {
        RC_ASSERT(plan.rows_of_slice(step, slice).begin == next);
        next = plan.rows_of_slice(step, slice).end;
      }
      RC_ASSERT(plan.rows_of(step).end == next);
    }
    RC_ASSERT(next == plan.row_count);
  });
}

TEST(properties, each_row_of_each_holding_comes_once_an_epoch_and_all_end_together) {
  expect([] {
    timeline plan;
    const auto rows = *rc::gen::nonEmpty(rc::gen::container<std::vector<size_t>>(
      rc::gen::oneOf(rc::gen::inRange<size_t>(1, 6), rc::gen::inRange<size_t>(1, 400))));
    plan.row_count = std::accumulate(rows.begin(), rows.end(), size_t{0});
    plan.slice_count = rows.size() + *rc::gen::inRange<size_t>(0, 9);
    RC_PRE(plan.slice_count <= plan.row_count);
    plan.batch_size = *rc::gen::inRange<size_t>(plan.slice_count, plan.row_count + 1);
    plan.holdings = share_slices(rows, plan.slice_count);
    RC_ASSERT(plan.holdings.size() == rows.size());
    uint64_t given = 0;
    std::vector<size_t> next;
    for (size_t slice = 0; slice < plan.slice_count; ++slice)
      next.push_back(plan.lane_of(slice).begin);
    for (uint64_t step = 0; step < plan.steps_in_epoch(); ++step) {
      RC_ASSERT(plan.rows_before(step) == given);
      size_t count = 0;
      for (size_t slice = 0; slice < plan.slice_count; ++slice) {
        const auto part = plan.rows_of_slice(step, slice);
        RC_ASSERT(part.begin == next[slice]);
        next[slice] = part.end;
        count += part.size();
      }
      const auto wanted = plan.rows_of(step).size();
      RC_ASSERT(count > 0 && count < wanted + plan.slice_count &&
                wanted < count + plan.slice_count);
      given += count;
    }
    RC_ASSERT(given == plan.row_count);
    size_t slice = 0;
    for (size_t holding = 0; holding < rows.size(); ++holding) {
      size_t end = 0;
      for (const auto slices = plan.holdings[holding].slices; slice < slices.end; ++slice) {
        RC_ASSERT(plan.holding_of_slice(slice) == holding && plan.lane_of(slice).begin == end);
        end = plan.lane_of(slice).end;
        RC_ASSERT(next[slice] == end);
      }
      RC_ASSERT(end == rows[holding]);
    }
    RC_ASSERT(slice == plan.slice_count);
  });
}

TEST(properties, steps_of_one_holding_each_take_all_its_rows_and_stand_in_proportion) {
  expect([] {
    timeline plan;
    const auto rows = *rc::gen::nonEmpty(rc::gen::container<std::vector<size_t>>(
      rc::gen::oneOf(rc::gen::inRange<size_t>(1, 6), rc::gen::inRange<size_t>(1, 400))));
    RC_PRE(rows.size() > 1);
    plan.row_count = std::accumulate(rows.begin(), rows.end(), size_t{0});
    plan.batch_size = *rc::gen::inRange<size_t>(1, plan.row_count + 1);
    plan.holdings = share_slices(rows, plan.slice_count);
    std::vector<uint64_t> taken(rows.size()), last(rows.size());
    const auto count = plan.steps_in_epoch();
    const auto near = static_cast<int64_t>(rows.size() / 2 + 1);
    for (uint64_t step = 0; step < count; ++step) {
      const auto own = plan.holding_of(step, 0);
      RC_ASSERT(plan.rows_of(step).begin == taken[own] * plan.batch_size);
      for (uint64_t from = last[own]; from <= step; ++from)
        RC_ASSERT(plan.next_step_of(own, from) == step);
      last[own] = step + 1;
      ++taken[own];
      for (size_t i = 0; i < rows.size(); ++i)
        RC_ASSERT(std::abs(static_cast<int64_t>(taken[i]) -
                           static_cast<int64_t>((step + 1) * plan.steps_of(i) / count)) <= near);
    }
    for (size_t i = 0; i < rows.size(); ++i)
      RC_ASSERT(taken[i] == plan.steps_of(i) &&
                plan.next_step_of(i, last[i]) == count + plan.next_step_of(i, 0));
    RC_ASSERT(plan.rows_before(count) == plan.row_count);
  });
}

TEST(properties, the_next_evaluation_is_the_first_one_after) {
  expect([] {
    const auto plan = draw_plan();
    const auto version = *rc::gen::inRange<uint64_t>(0, plan.last_version());
    const auto next = plan.next_evaluation(version);
    RC_ASSERT(next > version && plan.evaluates(next));
    for (auto between = version + 1; between < next; ++between)
      RC_ASSERT(!plan.evaluates(between));
  });
}

TEST(properties, parts_differ_by_one_at_most_and_spares_come_last) {
  expect([] {
    const auto slices = *rc::gen::inRange<size_t>(1, 60);
    const auto parts = assign_slices(slices, *rc::gen::inRange<size_t>(1, 80));
    size_t next = 0;
    for (size_t i = 0; i < parts.size(); ++i) {
      RC_ASSERT(parts[i].size() <= parts[0].size() + 1 && parts[0].size() <= parts[i].size() + 1);
      RC_ASSERT(i >= slices || (parts[i].begin == next && !parts[i].empty()));
      RC_ASSERT(i < slices || parts[i].empty());
      next = i < slices ? parts[i].end : next;
    }
    RC_ASSERT(next == slices);
  });
}

TEST(properties, a_replica_visits_each_version_once_and_starts_no_step_on_hold) {
  expect([](const indices& events) {
    const auto plan = draw_plan();
    replica_rule rule{plan, 2};
    rule.set_horizon({plan.last_version(), true});
    std::array<uint64_t, 2> announced{};
    uint64_t computed = 0;
    uint64_t evaluated = 0;
    bool holds = false;
    for (const auto event : events) {
      if (event % 4 < 2 && announced[event % 2] <= std::min(computed, announced[1 - event % 2]))
        rule.announce(announced[event % 2]++, event % 2);
      if (event % 4 == 2) {
        RC_ASSERT(rule.hold() == computed);
        holds = true;
      }
      if (event % 4 == 3) {
        rule.set_horizon({plan.last_version(), true});
        holds = false;
      }
      for (auto what = rule.next(); what != replica_rule::action::wait; what = rule.next()) {
        RC_ASSERT(rule.version() < std::min(announced[0], announced[1]));
        if (what == replica_rule::action::compute) {
          RC_ASSERT(!holds && rule.version() == computed && computed < plan.last_version());
          ++computed;
        } else {
          RC_ASSERT(plan.evaluates(rule.version()) && rule.version() > evaluated);
          evaluated = rule.version();
        }
      }
    }
  });
}

TEST(properties, the_norm_is_the_same_in_any_order_of_arrival) {
  expect([](const std::vector<double>& sums, const indices& order) {
    RC_PRE(!sums.empty());
    sums_rule in_order{sums.size()};
    in_order.offer(0, 0, sums);
    sums_rule rule{sums.size()};
    const auto offer = [&](size_t block) {
      RC_ASSERT(!rule.totals() || rule.known_count() == sums.size());
      rule.offer(0, block, std::span{sums}.subspan(block, 1));
    };
    for (const auto index : order)
      offer(index % sums.size());
    for (size_t block = 0; block < sums.size(); ++block)
      offer(block);
    RC_ASSERT(rule == in_order);
  });
}

TEST(properties, the_stop_rule_remembers_the_best_and_counts_from_there) {
  expect([](const indices& losses) {
    stop_rule rule{{.target_loss = 3.0, .patience = 4, .tolerance = 0}};
    for (size_t i = 0; i < losses.size(); ++i) {
      const auto verdict = rule.observe(i, losses[i]);
      const auto best =
        std::min_element(losses.begin(), losses.begin() + static_cast<std::ptrdiff_t>(i) + 1);
      const auto at = static_cast<size_t>(best - losses.begin());
      RC_ASSERT(rule.best_version() == at && rule.evaluations_without_improvement() == i - at);
      RC_ASSERT(verdict == (losses[i] <= 3 ? stop_reason::target_loss
                            : i - at >= 4  ? stop_reason::patience
                                           : stop_reason::none));
      if (verdict != stop_reason::none)
        return;
    }
  });
}

} // namespace
} // namespace troupe::properties_test
