// A collective's results do not depend on what arrives first: every order for three members, seeded
// ones for more. Values are such that sums in another order have other bits.

#include "coordinators/collective/collective_rule.hpp"
#include "tests/support/collective_group.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <functional>
#include <random>
#include <set>

namespace troupe::collective_order_test {
namespace {

using namespace test;
using enum collective_kind;
using floats = std::vector<float>;

constexpr auto all_kinds = {all_reduce, reduce_scatter, all_gather, broadcast, scatter, barrier};

/// Between 2^-12 and 2^12, of both signs: no two orders of adding them agree for long.
float some_value(uint64_t a, uint64_t b) {
  std::mt19937_64 random{a * 1'000'003 + b};
  const auto size = std::ldexp(1.0f + static_cast<float>(random() % 1000) / 999, //
                               static_cast<int>(random() % 24) - 12);
  return random() % 2 == 0 ? size : -size;
}

floats values_of(size_t member, size_t count, uint64_t round = 0) {
  floats result;
  for (size_t i = 0; i < count; ++i)
    result.push_back(some_value(round * 64 + member, i));
  return result;
}

/// The sum over members by the tree alone: left child, right child, whatever `+` gives.
float tree_sum(const std::function<float(size_t)>& value_of, const index_range& members) {
  if (members.size() == 1)
    return value_of(members.begin);
  const auto middle = members.begin + std::bit_floor(members.size() - 1);
  return tree_sum(value_of, {members.begin, middle}) + tree_sum(value_of, {middle, members.end});
}

floats part_of(const floats& values, size_t member, size_t member_count) {
  const auto begin = member * values.size() / member_count;
  const auto end = (member + 1) * values.size() / member_count;
  return {values.begin() + static_cast<std::ptrdiff_t>(begin),
          values.begin() + static_cast<std::ptrdiff_t>(end)};
}

/// An operation of n members, and what each has to get.
struct example {
  collective_kind kind;
  size_t member_count;
  size_t count;
  uint64_t root = 0;
  uint64_t round = 0;

  collective_call call(size_t member) const {
    const auto own_count = kind == all_gather ? count + member : kind == barrier ? 0 : count;
    return {round, kind, root, view_of(values_of(member, own_count, round))};
  }

  floats result(size_t member) const {
    switch (kind) {
    case all_reduce:
      return sum();
    case reduce_scatter:
      return part_of(sum(), member, member_count);
    case all_gather:
      return joined();
    case broadcast:
      return floats_of(call(root).values);
    case collective_kind::scatter:
      return part_of(floats_of(call(root).values), member, member_count);
    default:
      return {};
    }
  }

private:
  floats sum() const {
    floats result;
    for (size_t i = 0; i < count; ++i)
      result.push_back(
        tree_sum([&](size_t k) { return some_value(round * 64 + k, i); }, {0, member_count}));
    return result;
  }

  floats joined() const {
    floats result;
    for (size_t k = 0; k < member_count; ++k)
      for (const auto value : values_of(k, count + k, round))
        result.push_back(value);
    return result;
  }
};

collective_options among(size_t member_count, size_t one_stage_bytes_max) {
  return {member_count, milliseconds{1'000}, one_stage_bytes_max};
}

/// Goes on in every order in which members may call and parts arrive; counts the ends of the way.
size_t walk(const collective_group& group, const example& what, std::set<size_t> to_call,
            std::vector<std::vector<floats>>& results) {
  if (to_call.empty() && group.bag.empty()) {
    std::vector<floats> end;
    for (size_t k = 0; k < what.member_count; ++k)
      end.push_back(group.values(k));
    if (std::ranges::find(results, end) == results.end())
      results.push_back(end);
    return 1;
  }
  size_t count = 0;
  for (const auto member : to_call) {
    auto next = group;
    next.call(member, what.call(member));
    auto others = to_call;
    others.erase(member);
    count += walk(next, what, others, results);
  }
  for (size_t place = 0; place < group.bag.size(); ++place) {
    auto next = group;
    next.deliver(place);
    count += walk(next, what, to_call, results);
  }
  return count;
}

size_t orders_of(const example& what, size_t one_stage_bytes_max) {
  std::vector<std::vector<floats>> results;
  const auto count =
    walk(collective_group{among(what.member_count, one_stage_bytes_max)}, what, {0, 1, 2}, results);
  std::vector<floats> expected;
  for (size_t k = 0; k < what.member_count; ++k)
    expected.push_back(what.result(k));
  EXPECT_EQ(results, std::vector<std::vector<floats>>(1, expected)) << name_of(what.kind);
  return count;
}

TEST(collective_order, does_not_show_in_one_stage_of_three_members) {
  // 9 events; each member's two parts follow its call: 9! / 3^3 orders.
  EXPECT_EQ(orders_of({all_reduce, 3, 2}, 64), 13'440u);
  EXPECT_EQ(orders_of({reduce_scatter, 3, 2}, 0), 13'440u);
  EXPECT_EQ(orders_of({all_gather, 3, 2}, 0), 13'440u);
  EXPECT_EQ(orders_of({barrier, 3, 0}, 0), 13'440u);
  EXPECT_GT(orders_of({broadcast, 3, 3, 1}, 0), 100u);
  EXPECT_GT(orders_of({collective_kind::scatter, 3, 4, 2}, 0), 30u);
}

// What arrives at one member in two stages: its call, two summands, two sums.
TEST(collective_order, of_arrivals_does_not_show_in_two_stages_of_three_members) {
  const example what{all_reduce, 3, 5};
  for (size_t member = 0; member < 3; ++member) {
    collective_group group{among(3, 0)};
    std::vector<test::collective_letter> arrivals;
    group.call_all([&](size_t k) { return what.call(k); });
    while (!group.bag.empty()) {
      if (group.bag.front().to == member)
        arrivals.push_back(group.bag.front());
      group.deliver(0);
    }
    ASSERT_EQ(arrivals.size(), 4u);
    std::vector<size_t> order{0, 1, 2, 3, 4}; // the last is the call
    do {
      collective_group alone{among(3, 0)};
      for (const auto event : order)
        if (event == 4)
          alone.call(member, what.call(member));
        else
          alone.arrive(arrivals[event]);
      EXPECT_EQ(alone.values(member), what.result(member));
    } while (std::ranges::next_permutation(order).found);
  }
}

TEST(collective_order, would_show_if_sums_ran_as_summands_arrive) {
  std::set<float> by_arrival;
  std::set<float> by_rule;
  std::vector<size_t> order{0, 1, 2};
  do {
    float sum = 0;
    collective_group group{among(3, 64)};
    for (const auto member : order) {
      sum += some_value(member, 0);
      group.call(member, example{all_reduce, 3, 1}.call(member));
      group.settle();
    }
    by_arrival.insert(sum);
    by_rule.insert(group.values(0)[0]);
  } while (std::ranges::next_permutation(order).found);
  EXPECT_GT(by_arrival.size(), 1u);
  EXPECT_EQ(by_rule.size(), 1u);
}

// Members call one round after the other as fast as theirs end; what is sent arrives in any order, some
// of it twice.
void expect_no_order_shows(uint64_t seed, bool is_far) {
  std::mt19937_64 random{seed};
  const size_t n = 1 + random() % 9;
  std::vector<example> rounds;
  for (uint64_t round = 0; round < 5; ++round)
    rounds.push_back(
      {std::data(all_kinds)[random() % all_kinds.size()], n, random() % 40, random() % n, round});
  auto options = among(n, random() % 100);
  options.pieces = {1 + random() % 4, 1 + random() % 2, 1 + random() % 4};
  collective_group group{options, is_far};
  std::vector<uint64_t> called(n, 0); // rounds of each member
  for (;;) {
    std::vector<size_t> may_call;
    for (size_t k = 0; k < n; ++k)
      if (called[k] < rounds.size() && (called[k] == 0 || group.ends.contains({k, called[k] - 1})))
        may_call.push_back(k);
    if (may_call.empty() && group.bag.empty())
      break;
    const auto choice = random() % (may_call.size() + group.bag.size());
    if (choice < may_call.size()) {
      const auto member = may_call[choice];
      group.call(member, rounds[called[member]++].call(member));
    } else {
      const auto letter = group.bag[choice - may_call.size()];
      group.deliver(choice - may_call.size());
      if (random() % 8 == 0)
        group.arrive(letter);
    }
  }
  for (const auto& what : rounds)
    for (size_t k = 0; k < n; ++k) {
      ASSERT_TRUE(group.ends.contains({k, what.round})) << "seed " << seed;
      ASSERT_EQ(group.end(k, what.round).problem, "") << "seed " << seed;
      ASSERT_EQ(group.values(k, what.round), what.result(k))
        << "seed " << seed << ", " << name_of(what.kind) << ", member " << k << " of " << n;
    }
  for (const auto& one : group.departing)
    EXPECT_TRUE(one.empty()) << "seed " << seed << ": something was never sent";
}

TEST(collective_order, does_not_show_in_seeded_groups_of_up_to_nine_members) {
  for (uint64_t seed = 0; seed < 300; ++seed)
    ASSERT_NO_FATAL_FAILURE(expect_no_order_shows(seed, false));
}

TEST(collective_order, of_pieces_does_not_show_in_seeded_groups_of_many_processes) {
  for (uint64_t seed = 0; seed < 300; ++seed)
    ASSERT_NO_FATAL_FAILURE(expect_no_order_shows(seed, true));
}

} // namespace
} // namespace troupe::collective_order_test
