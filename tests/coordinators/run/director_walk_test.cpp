// Whole runs by seed: whatever the order of messages, a run ends once, at the right version, with
// the right rows.

#include "coordinators/step/checkpoint_rule.hpp"
#include "tests/support/company_walk.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

namespace troupe::director_walk_test {
namespace {

using test::company_walk;
using test::company_walk_options;

enum class trouble { none, stop, poison, both };

company_walk_options random_options(uint64_t seed, trouble kind) {
  std::mt19937_64 random{seed};
  company_walk_options result;
  auto& plan = result.director.plan;
  plan.row_count = 1 + random() % 30;
  plan.batch_size = std::min<size_t>(plan.row_count, 1 + random() % 8);
  plan.slice_count = 1 + random() % 5;
  plan.epoch_count = 1 + random() % 4;
  plan.evaluate_every = random() % 3;
  if (random() % 3 == 0)
    plan.step_limit = 1 + random() % 12;
  if (random() % 2 == 0)
    result.director.rows.test = 1 + random() % 800;
  if (random() % 3 == 0)
    result.director.rows.validation = 1 + random() % 800;
  result.director.keep_best = random() % 2 == 0;
  result.director.waits_for_rows = random() % 3 == 0;
  if (random() % 2 == 0)
    result.director.checkpoint_every = 1 + random() % 9;
  if (result.director.checkpoint_every == 9)
    result.director.checkpoint_every = checkpoint_at_stop;
  if (random() % 3 == 0)
    result.director.stop.target_loss = 0.25;
  if (random() % 3 == 0 && plan.evaluate_every > 0)
    result.director.stop.patience = 1 + random() % 2;
  result.replica_count = 1 + random() % 6;
  result.shard_count = 1 + random() % 3;
  if (kind == trouble::stop || kind == trouble::both)
    for (size_t i = 0; i <= random() % 3; ++i)
      result.stop_events.push_back(random() % (random() % 2 == 0 ? 10 : 400));
  if (kind == trouble::poison || kind == trouble::both)
    result.poisoned_step = random() % plan.last_version();
  // An evaluated row says that every shard has got so far, any other that the first one has.
  if (!result.director.rows.empty())
    result.poisoned_shard = random() % result.shard_count;
  return result;
}

/// What a loop over the steps of a run knows at some version.
struct told {
  uint64_t version = 0; ///< at which the run ends
  stop_reason reason = stop_reason::none;
  std::optional<uint64_t> best; ///< the first with the least watched loss, up to `version`
};

/// How the run ends when nobody disturbs it, or at `last_version` at the latest, told step by step.
told reported_end(const company_walk& run, const director_rule_options& known,
                  uint64_t last_version) {
  const auto& plan = known.plan;
  stop_rule rule{known.stop};
  batch_sums train;
  std::optional<uint64_t> best;
  double least = std::numeric_limits<double>::infinity();
  for (uint64_t version = 1;; ++version) {
    train = train + run.figures().of_step(version - 1);
    if (plan.evaluates(version)) {
      const auto watched = known.rows.validation.row_count() > 0
                             ? run.figures().of_validation(version)
                           : known.rows.test.row_count() > 0 ? run.figures().of_test(version)
                                                             : train;
      const auto loss = watched.loss_sum / static_cast<double>(watched.sample_count);
      if (known.keep_best && loss < least) {
        least = loss;
        best = version;
      }
      if (plan.schedules_evaluation(version))
        if (const auto verdict = rule.observe(version, loss); verdict != stop_reason::none)
          return {version, verdict, best};
    }
    if (version == plan.epoch_count * plan.steps_in_epoch())
      return {version, stop_reason::epochs, best};
    if (version == plan.last_version())
      return {version, stop_reason::steps, best};
    if (version == last_version)
      return {version, stop_reason::none, best};
    if (plan.is_epoch_end(version))
      train = {};
  }
}

template <class Decision>
std::vector<Decision> all_of(const director_decisions& decisions) {
  std::vector<Decision> result;
  for (const auto& decision : decisions)
    if (const auto* found = std::get_if<Decision>(&decision))
      result.push_back(*found);
  return result;
}

class checked_walk {
public:
  checked_walk(uint64_t seed, trouble kind)
    : seed_(seed), options_(random_options(seed, kind)), walk_(options_, seed) {
    walk_.run();
  }

  void check() {
    const auto finishes = all_of<finish_at>(walk_.decisions());
    ASSERT_EQ(finishes.size(), 1u) << "one end";
    ASSERT_TRUE(std::holds_alternative<finish_at>(walk_.decisions().back())) << "nothing after it";
    end_ = {walk_.director().end_version(), finishes.front().reason};
    result_version_ = finishes.front().version;
    check_end();
    check_result();
    check_shards();
    check_rows();
    check_checkpoints();
  }

  /// What a run decided about versions beyond `version`, each kind of decision in its order.
  static auto after(uint64_t version, const company_walk& run) {
    auto rows = all_of<publish_row>(run.decisions());
    std::erase_if(rows, [&](const auto& x) { return x.figures.version <= version; });
    auto kept = all_of<keep_version>(run.decisions());
    std::erase_if(kept, [&](const auto& x) { return x.version <= version; });
    auto taken = all_of<take_checkpoint>(run.decisions());
    std::erase_if(taken, [&](const auto& x) { return x.version <= version; });
    return std::tuple{rows,
                      kept,
                      taken,
                      all_of<finish_at>(run.decisions()),
                      run.director().end_version(),
                      run.director().best()};
  }

  /// Runs that go on from each checkpoint of this one decide what it decided from there on.
  void check_restored() {
    for (const auto& [version, memory] : walk_.memories()) {
      // From where a result ended it, a run goes on only when its rules are changed.
      if (version == walk_.director().end_version() && by_result())
        continue;
      auto options = options_;
      options.memory = memory;
      company_walk again{options, seed_};
      again.run();
      SCOPED_TRACE("from version " + std::to_string(version));
      ASSERT_EQ(after(version, again), after(version, walk_));
      ++restored_count_;
    }
  }

  size_t restored_count() const { return restored_count_; }

  stop_reason reason() const { return end_.reason; }
  bool goes_back() const { return result_version_ < end_.version; }

private:
  void check_end() const {
    const auto undisturbed =
      reported_end(walk_, options_.director, options_.director.plan.last_version());
    if (end_.reason == stop_reason::diverged) {
      ASSERT_TRUE(walk_.poisoned());
      ASSERT_EQ(end_.version, *options_.poisoned_step);
      ASSERT_LT(end_.version, undisturbed.version);
    } else if (end_.reason == stop_reason::interrupt) {
      ASSERT_TRUE(walk_.asked_to_stop());
      ASSERT_LT(end_.version, undisturbed.version);
    } else {
      ASSERT_EQ(end_.version, undisturbed.version);
      ASSERT_EQ(end_.reason, undisturbed.reason);
    }
    if (end_.reason != stop_reason::diverged) {
      ASSERT_FALSE(walk_.poisoned()) << "no version beyond the bad step can be the result";
    }
  }

  // The result is the best of the versions that came before the end, whatever ended the run.
  void check_result() const {
    ASSERT_FALSE(walk_.fetched_too_late());
    const auto best =
      end_.version == 0 ? std::nullopt : reported_end(walk_, options_.director, end_.version).best;
    const auto kept = walk_.director().best();
    ASSERT_EQ(result_version_, best.value_or(end_.version));
    ASSERT_EQ(kept ? std::optional{kept->version} : std::nullopt, best);
  }

  // The version can be collected from every shard: it is their own or the one before.
  void check_shards() const {
    for (size_t k = 0; k < options_.shard_count; ++k) {
      ASSERT_GE(walk_.shard_version(k), end_.version);
      ASSERT_LE(walk_.shard_version(k), end_.version + (walk_.poisoned() ? 1 : 0));
    }
  }

  void check_rows() const {
    const auto& known = options_.director;
    const bool diverged = end_.reason == stop_reason::diverged;
    std::map<uint64_t, epoch_figures> rows;
    uint64_t newest = 0;
    for (const auto& row : all_of<publish_row>(walk_.decisions())) {
      const auto version = row.figures.version;
      ASSERT_GE(version, newest) << "in order";
      if (version == newest) {
        ASSERT_FALSE(rows.at(version).test || rows.at(version).validation)
          << "a second row brings the evaluation";
      }
      newest = version;
      rows[version] = row.figures;
    }
    uint64_t begin = 0;
    for (const auto& [version, row] : rows) {
      batch_sums train;
      for (auto step = begin; step < version; ++step)
        train = train + walk_.figures().of_step(step);
      ASSERT_EQ(row.train, train) << "version " << version;
      const bool evaluated = known.plan.evaluates(version) ||
                             (version == end_.version && end_.reason == stop_reason::interrupt);
      const auto when = [&](size_t row_count, const batch_sums& sums) {
        return evaluated && row_count > 0 ? std::optional{sums} : std::nullopt;
      };
      ASSERT_EQ(row.test, when(known.rows.test.row_count(), walk_.figures().of_test(version)))
        << version;
      ASSERT_EQ(row.validation,
                when(known.rows.validation.row_count(), walk_.figures().of_validation(version)))
        << version;
      begin = version;
    }
    if (!diverged) {
      ASSERT_EQ(newest, end_.version) << "the last row is that of the result";
      for (auto version = known.plan.steps_in_epoch(); version <= end_.version;
           version += known.plan.steps_in_epoch())
        ASSERT_TRUE(rows.contains(version)) << "each epoch has its row";
    } else {
      // The first shard may be one version ahead of the one that met the bad step.
      ASSERT_LE(newest, end_.version + (options_.poisoned_shard > 0 ? 1 : 0));
    }
  }

  bool by_result() const {
    const auto reason = all_of<finish_at>(walk_.decisions()).back().reason;
    return reason == stop_reason::target_loss || reason == stop_reason::patience;
  }

  void check_checkpoints() const {
    const auto every = options_.director.checkpoint_every;
    uint64_t newest = 0;
    for (const auto& [version] : all_of<take_checkpoint>(walk_.decisions())) {
      ASSERT_GT(every, 0u);
      ASSERT_GE(version, newest) << "in order";
      ASSERT_TRUE(version % every == 0 || version == end_.version) << version;
      newest = version;
    }
    if (every == 0 || end_.reason == stop_reason::diverged)
      return;
    if (every == checkpoint_at_stop && end_.reason != stop_reason::interrupt) {
      ASSERT_TRUE(newest == 0 || by_result()) << "a result where a stop was named";
      return;
    }
    ASSERT_EQ(newest, end_.version) << "the end can be gone on from";
    for (auto version = every; version <= end_.version; version += every)
      ASSERT_TRUE(walk_.memories().contains(version)) << version;
  }

  uint64_t seed_;
  company_walk_options options_;
  company_walk walk_;
  size_t restored_count_ = 0;
  finish_at end_; ///< with the version training ended at
  uint64_t result_version_ = 0;
};

/// Runs many seeds and returns the reasons they ended for.
std::set<stop_reason> walk_seeds(trouble kind) {
  std::set<stop_reason> reasons;
  size_t best_before_end_count = 0;
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    checked_walk one{seed, kind};
    one.check();
    if (testing::Test::HasFatalFailure())
      break;
    reasons.insert(one.reason());
    best_before_end_count += one.goes_back() ? 1 : 0;
  }
  EXPECT_GT(best_before_end_count, 20u) << "else the walk says little about the best version";
  return reasons;
}

using reasons = std::set<stop_reason>;
using enum stop_reason;

TEST(director_walk, undisturbed_runs_end_where_a_loop_over_the_steps_ends) {
  EXPECT_EQ(walk_seeds(trouble::none), (reasons{epochs, steps, target_loss, patience}));
}

TEST(director_walk, a_rule_that_goes_on_from_a_checkpoint_decides_as_if_nothing_had_happened) {
  size_t restored_count = 0;
  for (uint64_t seed = 0; seed < 1000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    checked_walk one{seed, trouble::none};
    one.check_restored();
    if (testing::Test::HasFatalFailure())
      break;
    restored_count += one.restored_count();
  }
  EXPECT_GT(restored_count, 1000u);
}

TEST(director_walk, runs_that_are_asked_to_stop_end_at_a_version_every_replica_reaches) {
  EXPECT_EQ(walk_seeds(trouble::stop), (reasons{epochs, steps, target_loss, patience, interrupt}));
}

TEST(director_walk, runs_that_diverge_end_at_the_last_finite_version) {
  EXPECT_EQ(walk_seeds(trouble::poison), (reasons{target_loss, patience, diverged}));
}

TEST(director_walk, a_stop_and_a_divergence_give_one_end) {
  EXPECT_EQ(walk_seeds(trouble::both), (reasons{target_loss, patience, interrupt, diverged}));
}

// A run that ended and is made longer is the run that never stopped, wherever it was cut: all cuts
// of a small plan, under all rules that read results.

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

} // namespace
} // namespace troupe::director_walk_test
