// Not walks but all of it: every order of messages and events that a small cluster can live
// through, to the end. In each of its worlds the versions are those of an undisturbed run, and
// from each the run can still finish.

#include "tests/support/walk/small_cluster.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <unordered_map>
#include <vector>

namespace troupe::exhaustive_test {
namespace {

using namespace test;

/// What a breadth-first exploration found.
struct exploration {
  size_t world_count = 0;
  size_t event_count = 0;
  size_t finished_count = 0;
  size_t dead_end_count = 0; ///< worlds from which no finished one is reached
  std::string problem;       ///< the first; empty: none
};

class explorer {
public:
  explicit explorer(small_cluster cluster) : cluster_(std::move(cluster)) {}

  exploration run() {
    find(cluster_.start());
    // `worlds_` grows as it is read: breadth first.
    for (uint32_t from = 0; from < worlds_.size() && result_.problem.empty(); ++from) {
      if (worlds_.size() > 2'000'000) {
        result_.problem = "too many worlds to see all";
        return result_;
      }
      result_.problem = cluster_.problem_in(*worlds_[from]);
      if (!result_.problem.empty())
        result_.problem += "\n" + cluster_.text_of(*worlds_[from]);
      for (const auto& next : cluster_.successors(*worlds_[from]))
        events_.emplace_back(find(next), from);
    }
    result_.world_count = worlds_.size();
    result_.event_count = events_.size();
    count_dead_ends();
    return result_;
  }

private:
  uint32_t find(const world& w) {
    const auto [at, is_new] = known_.try_emplace(w, static_cast<uint32_t>(worlds_.size()));
    if (is_new)
      worlds_.push_back(&at->first);
    return at->second;
  }

  // Backwards from the finished worlds along the events.
  void count_dead_ends() {
    std::sort(events_.begin(), events_.end());
    std::vector<char> can_finish(worlds_.size(), 0);
    std::vector<uint32_t> open;
    for (uint32_t i = 0; i < worlds_.size(); ++i)
      if (cluster_.is_finished(*worlds_[i])) {
        can_finish[i] = 1;
        open.push_back(i);
      }
    result_.finished_count = open.size();
    size_t reached = open.size();
    while (!open.empty()) {
      const auto to = open.back();
      open.pop_back();
      for (auto at = std::lower_bound(events_.begin(), events_.end(), std::pair{to, uint32_t{0}});
           at != events_.end() && at->first == to; ++at)
        if (!can_finish[at->second]) {
          can_finish[at->second] = 1;
          open.push_back(at->second);
          ++reached;
        }
    }
    result_.dead_end_count = worlds_.size() - reached;
    // The last dead end is the one with the least still to come.
    for (auto i = worlds_.size(); i-- > 0 && result_.problem.empty();)
      if (!can_finish[i])
        result_.problem = "cannot finish from\n" + cluster_.text_of(*worlds_[i]);
  }

  small_cluster cluster_;
  std::unordered_map<world, uint32_t, hash_of_world> known_;
  std::vector<const world*> worlds_;
  std::vector<std::pair<uint32_t, uint32_t>> events_; ///< to, from
  exploration result_;
};

/// Explores, checks, and records how much there was to see.
exploration explore(const cluster_plan& known, const troubles& allowed) {
  const auto result = explorer{small_cluster{known, allowed}}.run();
  testing::Test::RecordProperty("worlds", static_cast<int>(result.world_count));
  std::cout << result.world_count << " worlds, " << result.event_count << " events, "
            << result.finished_count << " finished\n";
  EXPECT_EQ(result.problem, "");
  EXPECT_EQ(result.dead_end_count, 0u);
  EXPECT_GT(result.finished_count, 0u);
  return result;
}

/// Two steps of two slices with a row each.
cluster_plan two_steps() {
  return {.plan = {
            .row_count = 4, .batch_size = 2, .slice_count = 2, .epoch_count = 1, .step_limit = {}}};
}

/// Steps of one row: the first slice never exists, the second one's owner carries all alone.
cluster_plan steps_of_one_row(size_t count) {
  return {
    .plan = {
      .row_count = count, .batch_size = 1, .slice_count = 2, .epoch_count = 1, .step_limit = {}}};
}

TEST(exhaustive, a_crash_and_a_duplicate_in_any_order_change_nothing) {
  EXPECT_GT(explore(two_steps(), {.crashes = 1, .duplicates = 1}).world_count, 50'000u);
}

TEST(exhaustive, a_lost_message_is_asked_for_again) {
  EXPECT_GT(explore(two_steps(), {.losses = 2}).world_count, 50'000u);
}

TEST(exhaustive, asking_too_early_does_no_harm) {
  EXPECT_GT(explore(two_steps(), {.crashes = 1, .wants = 1}).world_count, 50'000u);
}

TEST(exhaustive, who_is_thought_lost_and_goes_on_does_no_harm) {
  EXPECT_GT(explore(two_steps(), {.suspicions = 1, .duplicates = 1}).world_count, 50'000u);
}

TEST(exhaustive, spans_in_pieces_are_put_together) {
  auto known = two_steps();
  known.pieces_of_last_span = 2;
  EXPECT_GT(explore(known, {.crashes = 1}).world_count, 50'000u);
}

TEST(exhaustive, a_stop_names_a_version_that_all_reach_and_keep) {
  EXPECT_GT(explore(two_steps(), {.stops = 1}).world_count, 40'000u);
}

TEST(exhaustive, a_stop_outlives_a_crash) {
  auto known = two_steps();
  known.plan.row_count = 2;
  known.drops_outdated = true;
  known.first_troubled = 1;
  EXPECT_GT(explore(known, {.crashes = 1, .stops = 1}).world_count, 50'000u);
}

TEST(exhaustive, a_stop_counts_on_nobody_who_was_lost_and_goes_on) {
  auto known = steps_of_one_row(1);
  known.drops_outdated = true;
  EXPECT_GT(explore(known, {.suspicions = 1, .stops = 1}).world_count, 50'000u);
}

} // namespace
} // namespace troupe::exhaustive_test
