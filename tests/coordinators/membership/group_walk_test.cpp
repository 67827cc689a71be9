// Every order in which the processes of a small cluster are lost and come back, a model split over
// them: what a view promises holds after each event, and a view is published whenever one is possible.

#include "coordinators/membership/membership_rule.hpp"
#include "coordinators/step/placement.hpp"
#include "tests/support/membership.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <tuple>

namespace troupe::group_walk_test {
namespace {

using test::at;
using phase = membership_rule::phase;

struct small_cluster {
  grid_shape shape;
  std::vector<expected_member> processes; ///< x is not in the cluster file
  size_t slice_count = 0;
  size_t depth = 0; ///< events after everybody has joined
};

constexpr size_t segment_count = 2;
constexpr size_t part_count = 3;

/// Three parts of two segments, a block each, and one that parts have in common.
membership_options options_of(const small_cluster& x) {
  membership_options result;
  std::ranges::copy_if(x.processes, std::back_inserter(result.expected),
                       [](const expected_member& one) { return one.name != "x"; });
  result.lets_join = result.expected.size() < x.processes.size();
  result.home = x.processes.front().name;
  result.slice_count = x.slice_count;
  result.parameter_count = (segment_count * part_count + 1) * block_size;
  result.join_timeout = milliseconds{1'000'000};
  result.split.shape = x.shape;
  result.split.part_count = part_count;
  result.split.segment_costs.assign(segment_count, 1);
  for (size_t i = 0; i <= segment_count * part_count; ++i)
    result.split.tiles.push_back(
      {i % segment_count, i / segment_count % part_count, {i * block_size, (i + 1) * block_size}});
  return result;
}

/// A carrier by name, and the part of the model that it has.
using carrier = std::tuple<std::string, uint64_t, size_t, index_range, index_range>;
using groups = std::map<index_range, std::set<carrier>>;

groups groups_of(const cluster_view& x) {
  groups result;
  for (const auto& place : x.replicas)
    if (!place.slices.empty()) {
      const auto& who = x.members[place.member];
      result[place.slices].emplace(who.name, who.incarnation, place.index, place.segments,
                                   place.parts);
    }
  return result;
}

bool has_all_of(const cluster_view& x, const std::set<carrier>& group) {
  return std::ranges::all_of(group, [&](const carrier& one) {
    const auto place = x.find(std::get<0>(one));
    return place && x.members[*place].incarnation == std::get<1>(one) &&
           std::get<2>(one) < x.members[*place].replica_count;
  });
}

class group_walk {
public:
  explicit group_walk(const small_cluster& x) : options_(options_of(x)), cluster_(x) {}

  void run() {
    state first{membership_rule{options_, at(0)}, std::vector<uint64_t>(size(), 1),
                std::vector<bool>(size(), true), std::nullopt, 0};
    for (size_t i = 0; i < size(); ++i)
      take(first, first.rule.on_joined(life_of(first, i), at(0)));
    persist(first);
    ASSERT_EQ(first.rule.state(), phase::running);
    walk(first, cluster_.depth);
  }

  size_t views = 0;
  size_t terms = 0;
  size_t waits = 0;
  size_t regrouped = 0; ///< views of a term with other groups than before

private:
  struct state {
    membership_rule rule;
    std::vector<uint64_t> lives;
    std::vector<bool> is_here;
    std::optional<cluster_view> last;
    uint64_t to_persist = 0;
  };

  size_t size() const { return cluster_.processes.size(); }

  member life_of(const state& x, size_t i) const {
    const auto& known = cluster_.processes[i];
    return {known.name, x.lives[i], known.replica_count, known.shard_count};
  }

  void walk(const state& x, size_t depth) {
    if (depth == 0 || testing::Test::HasFailure())
      return;
    for (size_t i = 1; i < size(); ++i) { // the director's own process outlives the run
      state next = x;
      toggle(next, i);
      check_rest(next);
      walk(next, depth - 1);
    }
    if (x.to_persist > 0) {
      state next = x;
      persist(next);
      check_rest(next);
      walk(next, depth - 1);
    }
  }

  void toggle(state& x, size_t i) {
    x.is_here[i] = !x.is_here[i];
    if (x.is_here[i])
      ++x.lives[i];
    take(x, x.is_here[i] ? x.rule.on_joined(life_of(x, i), at(0))
                         : x.rule.on_lost(cluster_.processes[i].name, x.lives[i], at(0)));
  }

  void persist(state& x) {
    if (const auto term = std::exchange(x.to_persist, 0); term > 0)
      take(x, x.rule.on_term_persisted(term));
  }

  void take(state& x, const membership_decisions& decisions) {
    for (const auto& decision : decisions) {
      if (const auto* term = std::get_if<persist_term>(&decision))
        x.to_persist = term->term;
      if (const auto* news = std::get_if<publish>(&decision))
        check(x, *news);
      waits += std::holds_alternative<wait_for>(decision) ? 1 : 0;
      EXPECT_FALSE(std::holds_alternative<give_up>(decision));
    }
  }

  // ---- What holds ----

  void check(state& x, const publish& news) {
    const auto& view = news.view;
    ++views;
    terms += news.restarts ? 1 : 0;
    EXPECT_EQ(misfit_of(view, {"", 0, 0, options_.slice_count, options_.parameter_count, 0,
                               segment_count, part_count}),
              "")
      << test::text_of(view);
    check_slices(view);
    check_replicas(view);
    if (news.restarts)
      EXPECT_EQ(view.shards.back().blocks.end, block_count(options_.parameter_count));
    else
      check_same_term(*x.last, view);
    x.last = view;
  }

  void check_slices(const cluster_view& view) const {
    size_t owned = 0;
    size_t largest = 0;
    size_t smallest = options_.slice_count;
    for (const auto& [slices, group] : groups_of(view)) {
      owned += slices.size();
      largest = std::max(largest, slices.size());
      smallest = std::min(smallest, slices.size());
    }
    EXPECT_EQ(owned, options_.slice_count);
    EXPECT_LE(largest, smallest + 1) << test::text_of(view);
    const auto count = groups_of(view).size();
    const auto most = std::min(options_.slice_count, options_.split.shape.data);
    const auto possible = replicas_of(view.members) / options_.split.shape.group_size();
    EXPECT_TRUE(count >= std::min(most, possible) || largest == 1)
      << "replicas that make up a group are idle: " << test::text_of(view);
    EXPECT_LE(count, most);
  }

  void check_replicas(const cluster_view& view) const {
    size_t next = 0;
    for (size_t m = 0; m < view.members.size(); ++m)
      for (size_t i = 0; i < view.members[m].replica_count; ++i, ++next) {
        ASSERT_LT(next, view.replicas.size());
        EXPECT_EQ(view.replicas[next].member, m);
        EXPECT_EQ(view.replicas[next].index, i);
      }
    EXPECT_EQ(next, view.replicas.size());
  }

  void check_same_term(const cluster_view& before, const cluster_view& now) {
    ASSERT_EQ(now.shards.size(), before.shards.size());
    for (size_t k = 0; k < now.shards.size(); ++k) {
      EXPECT_EQ(now.shards[k].blocks, before.shards[k].blocks);
      EXPECT_EQ(now.shards[k].index, before.shards[k].index);
      EXPECT_EQ(now.members[now.shards[k].member], before.members[before.shards[k].member]);
    }
    const auto after = groups_of(now);
    regrouped += groups_of(before) == after ? 0 : 1;
    for (const auto& [slices, group] : groups_of(before)) {
      const bool goes_on =
        std::ranges::any_of(after, [&](const auto& x) { return x.second == group; });
      EXPECT_TRUE(goes_on || !has_all_of(now, group))
        << "a whole group was torn: " << test::text_of(before) << " / " << test::text_of(now);
    }
  }

  // What is possible was published; what is not is waited for.
  void check_rest(const state& x) const {
    const auto here = x.rule.present();
    const bool makes = can_place(options_.split, options_.holders, here);
    if (x.rule.state() == phase::running) {
      EXPECT_EQ(x.rule.view()->members == here, makes) << test::text_of(*x.rule.view());
    } else {
      const bool has_shard =
        std::ranges::any_of(here, [](const member& who) { return who.shard_count > 0; });
      EXPECT_EQ(x.rule.state(), phase::restarting);
      EXPECT_TRUE(x.to_persist > 0 || !makes || !has_shard);
    }
  }

  membership_options options_;
  small_cluster cluster_;
};

group_walk walked(const small_cluster& x) {
  group_walk result{x};
  result.run();
  return result;
}

TEST(group_walk, two_groups_of_two_by_two_on_four_processes_and_one_that_joins) {
  const auto walk =
    walked({{2, 2, 2}, {{"a", 2, 1}, {"b", 2, 0}, {"c", 2, 0}, {"d", 2, 0}, {"x", 2, 0}}, 4, 7});
  EXPECT_EQ(walk.terms, 1u) << "nobody who owns spans is ever lost";
  EXPECT_GT(walk.views, 1000u);
  EXPECT_GT(walk.waits, 100u);
  EXPECT_GT(walk.regrouped, 1000u);
}

TEST(group_walk, processes_with_spans_begin_new_terms) {
  const auto walk =
    walked({{2, 2, 2}, {{"a", 2, 1}, {"b", 2, 1}, {"c", 2, 1}, {"d", 2, 0}, {"x", 2, 0}}, 3, 7});
  EXPECT_GT(walk.terms, 100u);
  EXPECT_GT(walk.views, walk.terms);
  EXPECT_GT(walk.waits, 100u);
}

TEST(group_walk, processes_bring_uneven_numbers_of_replicas) {
  const auto walk =
    walked({{3, 3, 1}, {{"a", 1, 1}, {"b", 4, 0}, {"c", 2, 0}, {"d", 1, 1}, {"e", 3, 0}}, 7, 7});
  EXPECT_GT(walk.regrouped, 100u);
  EXPECT_GT(walk.terms, 10u);
}

TEST(group_walk, a_server_owns_everything_and_many_processes_have_a_part_each) {
  const auto walk = walked(
    {{3, 1, 2},
     {{"s", 0, 2}, {"a", 1, 0}, {"b", 1, 0}, {"c", 1, 0}, {"d", 1, 0}, {"e", 1, 0}, {"x", 2, 0}},
     4,
     5});
  EXPECT_EQ(walk.terms, 1u);
  EXPECT_GT(walk.waits, 10u);
  EXPECT_GT(walk.regrouped, 100u);
}

} // namespace
} // namespace troupe::group_walk_test
