// A run that ended and is made longer is the run that never stopped, wherever it was cut: all cuts
// of a small plan, under all rules that read results.

#include "tests/support/company_walk.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

namespace troupe::director_longer_test {

namespace {

using test::company_walk;
using test::company_walk_options;

/// One way to run 4 epochs of 3 steps.
struct rules {
  bool keep_best = false;
  std::optional<size_t> patience;
  std::optional<double> target_loss;
  size_t evaluate_every = 1;
  size_t test_rows = 0; ///< 0: the training loss is watched
  uint64_t seed = 0;
};

company_walk_options options_of(const rules& x) {
  company_walk_options result;
  auto& director = result.director;
  director.plan = {
    .row_count = 12, .batch_size = 4, .slice_count = 2, .epoch_count = 4, .step_limit = {}};
  director.plan.evaluate_every = x.evaluate_every;
  director.keep_best = x.keep_best;
  director.stop.patience = x.patience;
  director.stop.target_loss = x.target_loss;
  director.rows.test = x.test_rows;
  director.checkpoint_every = 5;
  result.replica_count = 2;
  result.shard_count = 2;
  return result;
}

company_walk run_of(const company_walk_options& options, uint64_t seed) {
  company_walk result{options, seed};
  result.run();
  return result;
}

/// The run that ends at `cut` by its own plan.
company_walk cut_run(const rules& x, uint64_t cut) {
  auto options = options_of(x);
  options.director.plan.step_limit = cut;
  return run_of(options, x.seed);
}

/// Goes on from where `before` ended, to the end of the whole plan.
company_walk longer(const rules& x, const company_walk& before) {
  auto options = options_of(x);
  options.memory = before.memories().at(before.director().end_version());
  return run_of(options, x.seed);
}

/// What a run comes to: rows beyond `cut`, its end, and why.
auto outcome(const company_walk& run, uint64_t cut) {
  std::vector<epoch_figures> rows;
  std::optional<finish_at> end;
  for (const auto& decision : run.decisions()) {
    if (const auto* row = std::get_if<publish_row>(&decision);
        row != nullptr && row->figures.version > cut)
      rows.push_back(row->figures);
    if (const auto* last = std::get_if<finish_at>(&decision))
      end = *last;
  }
  return std::tuple{rows, end, run.director().end_version(), run.director().best()};
}

template <class Function>
void for_all_rules(Function check) {
  for (const bool keep_best : {false, true})
    for (const std::optional<size_t> patience : {std::optional<size_t>{}, {1}, {2}})
      for (const std::optional<double> target_loss : {std::optional<double>{}, {0.25}})
        for (const size_t evaluate_every : {0u, 1u, 2u, 3u})
          for (const size_t test_rows : {0u, 300u})
            for (uint64_t seed = 0; seed < 4; ++seed) {
              SCOPED_TRACE("keep_best " + std::to_string(keep_best) + ", patience " +
                           std::to_string(patience.value_or(0)) + ", target " +
                           std::to_string(target_loss.has_value()) + ", evaluate_every " +
                           std::to_string(evaluate_every) + ", test rows " +
                           std::to_string(test_rows) + ", seed " + std::to_string(seed));
              check({keep_best, patience, target_loss, evaluate_every, test_rows, seed});
              if (testing::Test::HasFailure())
                return;
            }
}

constexpr uint64_t last_cut = 11;

} // namespace

TEST(director_longer, a_run_made_longer_anywhere_is_the_run_that_never_stopped) {
  size_t off_grid_best_count = 0;
  for_all_rules([&](const rules& x) {
    const auto straight = run_of(options_of(x), x.seed);
    for (uint64_t cut = 1; cut <= last_cut; ++cut) {
      const auto before = cut_run(x, cut);
      const auto best = before.director().best();
      if (best && !options_of(x).director.plan.schedules_evaluation(best->version))
        ++off_grid_best_count;
      ASSERT_EQ(outcome(longer(x, before), cut), outcome(straight, cut)) << "cut at " << cut;
    }
  });
  EXPECT_GT(off_grid_best_count, 500u) << "else no end was better than all before it";
}

TEST(director_longer, so_is_one_that_is_cut_twice) {
  for_all_rules([](const rules& x) {
    const auto straight = run_of(options_of(x), x.seed);
    for (uint64_t cut = 2; cut <= last_cut; cut += 2) {
      const auto before = cut_run(x, cut / 2);
      auto options = options_of(x);
      options.director.plan.step_limit = cut;
      options.memory = before.memories().at(before.director().end_version());
      const auto between = run_of(options, x.seed);
      if (between.memories().empty()) // a result had ended the first
        continue;
      ASSERT_EQ(outcome(longer(x, between), cut), outcome(straight, cut))
        << "cut at " << cut / 2 << " and " << cut;
    }
  });
}

TEST(director_longer, nothing_of_a_best_version_is_left_without_keep_best) {
  for_all_rules([](const rules& x) {
    if (x.keep_best)
      return;
    const auto straight = run_of(options_of(x), x.seed);
    auto keeping = x;
    keeping.keep_best = true;
    for (uint64_t cut = 1; cut <= last_cut; ++cut)
      ASSERT_EQ(outcome(longer(x, cut_run(keeping, cut)), cut), outcome(straight, cut)) << cut;
  });
}

TEST(director_longer, keep_best_finds_the_best_from_where_it_began) {
  for_all_rules([](const rules& x) {
    if (!x.keep_best)
      return;
    const auto& plan = options_of(x).director.plan;
    auto keeping_nothing = x;
    keeping_nothing.keep_best = false;
    for (uint64_t cut = 1; cut <= last_cut; ++cut) {
      const auto before = cut_run(keeping_nothing, cut);
      const auto run = longer(x, before);
      std::optional<best_version> best;
      const auto rows = std::get<0>(outcome(run, before.director().end_version()));
      for (const auto& row : rows) {
        const auto& watched = row.test ? *row.test : row.train;
        const auto loss = watched.loss_sum / static_cast<double>(watched.sample_count);
        if (plan.evaluates(row.version) && (!best || loss < best->loss))
          best = {row.version, loss};
      }
      ASSERT_EQ(run.director().best(), best) << cut;
    }
  });
}

TEST(director_longer, the_end_is_the_best_again_when_it_is_all_that_is_left) {
  for_all_rules([](const rules& x) {
    for (uint64_t cut = 1; cut <= last_cut; ++cut) {
      const auto before = cut_run(x, cut);
      auto options = options_of(x); // the same length: the summary was not written any more
      options.director.plan.step_limit = cut;
      options.memory = before.memories().at(before.director().end_version());
      ASSERT_EQ(outcome(run_of(options, x.seed), cut), outcome(before, cut)) << cut;
    }
  });
}

} // namespace troupe::director_longer_test
