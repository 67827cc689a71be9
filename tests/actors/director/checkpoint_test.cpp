// Going on from a checkpoint, in one process: whatever the moment, whoever goes on, the rest of the
// run is that of a run nobody disturbed.

#include "data/text/failure.hpp"
#include "tests/actors/director/resumed_runs.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <set>

namespace troupe::checkpoint_test {
namespace {

using namespace test;

/// 15 steps, 5 an epoch; 1,483 parameters would be one block, so the layers are wider: 4 blocks.
job wide_job() {
  auto x = small_job();
  x.model.hidden = {700, 12};
  return x;
}

struct case_of_resume {
  const char* name;
  std::function<void(job&)> change;
};

const std::vector<case_of_resume> cases{
  {"adam", [](job&) {}},
  {"momentum", [](job& x) { x.optimizer = {}, x.optimizer.momentum = 0.9; }},
  {"a norm over all shards", [](job& x) { x.optimizer.clip_norm = 0.1; }},
  {"dropout", [](job& x) { x.model.dropout = 0.3; }},
  {"a schedule",
   [](job& x) {
     x.optimizer.schedule.kind = schedule_kind::inverse_time;
     x.optimizer.schedule.steps = 4;
   }},
  {"no test rows", [](job& x) { x.data.test_fraction = 0; }},
  {"every second epoch is evaluated", [](job& x) { x.training.evaluate_every = 2; }},
  {"a last step within an epoch", [](job& x) { x.training.steps = 12; }},
  {"patience",
   [](job& x) {
     x.training.patience = 1;
     x.training.tolerance = 0.35;
     x.training.epochs = 20;
     x.training.keep_best = false;
   }},
  {"patience and the best version",
   [](job& x) {
     x.data.validation_fraction = 0.2;
     x.optimizer.learning_rate = 0.5; // too much: it gets worse again
     x.training.patience = 3;
     x.training.epochs = 8;
   }},
  {"lbfgs",
   [](job& x) {
     x.model.hidden = {6};
     x.optimizer = {};
     x.optimizer.kind = optimizer_kind::lbfgs;
     x.training.batch_size = 0;
     x.training.slices = 4;
     x.training.epochs = 9;
   }},
};

TEST(checkpoint, every_version_can_be_gone_on_from) {
  for (const auto& [name, change] : cases) {
    SCOPED_TRACE(name);
    auto x = wide_job();
    change(x);
    const auto undisturbed = test::train_in_order(x, 0);
    x.checkpoint.every_steps = 1;
    memory_folder folder;
    folder.keep = 1000;
    const auto first = test::train_in_order(x, 1, folder.writing());
    expect_same(first, undisturbed);
    const auto store = folder.store();
    const auto last = undisturbed.finished.history.back().steps;
    ASSERT_EQ(store->versions().size(), last);
    for (auto version : store->versions()) {
      if (version == last)
        break;
      SCOPED_TRACE("from version " + std::to_string(version));
      x.training.replicas = 1 + version % 4;
      company_options options;
      options.shard_count = 1 + version % 3;
      options.resume_from = store->open(version).read();
      expect_same(test::train_in_order(x, version, options), undisturbed);
    }
  }
}

TEST(checkpoint, a_run_that_dies_again_and_again_ends_like_one_that_never_did) {
  for (const uint64_t every : {1u, 3u, 7u}) {
    auto x = wide_job();
    x.training.patience = 2;
    const auto undisturbed = test::train_in_order(x, 0);
    x.checkpoint.every_steps = every;
    size_t resumed_count = 0;
    for (uint64_t seed = 0; seed < 8; ++seed) {
      SCOPED_TRACE("every " + std::to_string(every) + ", seed " + std::to_string(seed));
      std::mt19937_64 random{seed};
      const memory_folder folder;
      for (size_t life = 0; life < 4; ++life) {
        x.training.replicas = 1 + random() % 4;
        auto options = folder.resuming(x);
        options.shard_count = 1 + random() % 4;
        resumed_count += options.resume_from ? 1 : 0;
        run_and_die(x, options, random(), random() % 250);
      }
      expect_same(test::train_in_order(x, seed, folder.resuming(x)), undisturbed);
    }
    EXPECT_GT(resumed_count, 5u) << "else little was shown";
  }
}

TEST(checkpoint, a_run_that_was_stopped_goes_on_as_if_it_had_not_been) {
  for (const uint64_t every : {0u, 1u, 3u, 7u}) { // 0: the stop's alone
    auto x = wide_job();
    x.training.replicas = 3;
    x.training.evaluate_every = 2;
    x.training.epochs = 4;
    if (every == 0) { // the best version goes with it
      x.data.validation_fraction = 0.2;
      x.optimizer.learning_rate = 0.5;
    }
    const auto undisturbed = test::train_in_order(x, 0);
    x.checkpoint.every_steps = every;
    std::set<uint64_t> stops;
    for (uint64_t seed = 0; seed < 30; ++seed) {
      SCOPED_TRACE("every " + std::to_string(every) + ", seed " + std::to_string(seed));
      const memory_folder folder;
      test::ordered_company run{x, folder.writing()};
      std::mt19937_64 random{seed};
      run.begin();
      deliver(run, random, random() % (every == 0 ? 250 : 500));
      run.self()->send(run.actors().director(), atom::stop_v);
      run.self()->send(run.actors().director(), atom::stop_v);
      run.run(random);
      const auto finished = run.outcome().finished;
      const auto version = finished.end_version;
      const auto options = folder.resuming(x);
      EXPECT_EQ(folder.disk->files.contains("run/term"), every > 0);
      const bool has_ended = finished.reason != static_cast<uint8_t>(stop_reason::interrupt);
      if (version == 0 || (every == 0 && has_ended)) {
        EXPECT_FALSE(options.resume_from);
        continue;
      }
      ASSERT_TRUE(options.resume_from);
      EXPECT_EQ(options.resume_from->version, version) << "the end can be gone on from";
      stops.insert(version);
      x.training.replicas = 1 + seed % 3;
      expect_same(test::train_in_order(x, seed, options), undisturbed);
    }
    EXPECT_GT(stops.size(), 8u);
  }
}

TEST(checkpoint, a_stop_in_any_mode_leaves_one_and_the_end_does_not) {
  for (const auto& [name, change] : cases) {
    SCOPED_TRACE(name);
    auto x = wide_job();
    change(x);
    const auto undisturbed = test::train_in_order(x, 0);
    const memory_folder whole;
    expect_same(test::train_in_order(x, 0, whole.writing()), undisturbed);
    EXPECT_TRUE(whole.disk->files.empty());
    for (uint64_t seed = 0; seed < 6; ++seed) {
      const memory_folder folder;
      test::ordered_company run{x, folder.writing()};
      std::mt19937_64 random{seed};
      run.begin();
      deliver(run, random, 50 + random() % 200);
      run.self()->send(run.actors().director(), atom::stop_v);
      run.run(random);
      x.training.replicas = 1 + seed % 3;
      const auto options = folder.resuming(x);
      const auto again = test::train_in_order(x, seed, options);
      expect_same(again, undisturbed);
      EXPECT_EQ(again.finished.lives, options.resume_from ? 2u : 1u);
    }
  }
}

// The model is the result; that it can be gone on from is more than a full disk need give.
TEST(checkpoint, of_a_stop_that_cannot_be_written_costs_a_line_and_nothing_else) {
  for (const char* operation : {"create", "write", "sync", "rename", "sync_folder"})
    for (const uint64_t every : {0u, 100u}) {
      SCOPED_TRACE(std::string{operation} + " " + std::to_string(every));
      auto x = small_job();
      x.checkpoint.every_steps = every;
      const memory_folder folder;
      folder.disk->passes = every > 0 ? 1 : 0; // the term
      folder.disk->failing = operation;
      test::ordered_company run{x, folder.writing()};
      std::mt19937_64 random{7};
      run.begin();
      deliver(run, random, 60);
      run.self()->send(run.actors().director(), atom::stop_v);
      run.run(random);
      const auto outcome = run.outcome();
      const auto& finished = outcome.finished;
      EXPECT_FALSE(finished.failed) << finished.problem;
      EXPECT_EQ(finished.reason, static_cast<uint8_t>(stop_reason::interrupt));
      EXPECT_GT(finished.version, 0u);
      x.training.steps = finished.version;
      x.checkpoint.every_steps = 0;
      EXPECT_EQ(outcome.parameters, test::train_in_order(x, 0).parameters);
      folder.disk->failing.clear();
      if (std::string{operation} != "sync_folder") { // its name may be there for all that
        EXPECT_TRUE(folder.store()->versions().empty());
      }
    }
}

TEST(checkpoint, a_run_that_is_made_longer_is_the_run_that_never_stopped) {
  for (const auto& [name, change] : cases) {
    SCOPED_TRACE(name);
    auto x = wide_job();
    change(x);
    x.data.validation_fraction = 0.2;
    const auto whole = x.training.steps;
    const auto undisturbed = test::train_in_order(x, 0);
    x.checkpoint.every_steps = 100;                          // at the end alone
    for (const uint64_t steps : {1u, 3u, 4u, 7u, 8u, 10u}) { // 4 an epoch
      SCOPED_TRACE(steps);
      memory_folder folder;
      x.training.steps = steps;
      test::train_in_order(x, steps, folder.writing());
      x.training.steps = whole;
      expect_same(test::train_in_order(x, steps + 1, folder.resuming(x)), undisturbed);
    }
  }
}

TEST(checkpoint, on_real_threads_too) {
  auto x = wide_job();
  x.optimizer.clip_norm = 0.1;
  const auto undisturbed = test::train_in_order(x, 0);
  x.checkpoint.every_steps = 4;
  memory_folder folder;
  folder.keep = 100;
  auto options = folder.writing();
  options.shard_count = 3;
  expect_same(test::train_company(2, x, options), undisturbed);
  EXPECT_EQ(folder.store()->versions(), (std::vector<uint64_t>{4, 8, 12, 15}));
  options.resume_from = folder.store()->open(8).read();
  options.shard_count = 2;
  x.training.replicas = 5;
  expect_same(test::train_company(3, x, options), undisturbed);
}

TEST(checkpoint, from_the_end_the_result_is_there_at_once) {
  auto x = small_job();
  const auto undisturbed = test::train_in_order(x, 0);
  x.checkpoint.every_steps = 4;
  const memory_folder folder;
  test::train_in_order(x, 1, folder.writing());
  const auto options = folder.resuming(x);
  ASSERT_EQ(options.resume_from->version, 15u);
  const auto again = test::train_in_order(x, 2, options);
  expect_same(again, undisturbed);
  EXPECT_EQ(again.finished.replicas.at(0).sample_count, 0u);
}

TEST(checkpoint, time_goes_on_where_it_was) {
  auto x = small_job();
  x.checkpoint.every_steps = 5;
  const memory_folder folder;
  test::train_in_order(x, 1, folder.writing());
  auto options = folder.resuming(x);
  options.resume_from = folder.store()->open(10).read();
  options.resume_from->seconds = 100;
  const auto finished = test::train_in_order(x, 2, options).finished;
  EXPECT_GE(finished.seconds, 100);
  EXPECT_GE(finished.history.back().seconds, 100);
  EXPECT_LT(finished.history[1].seconds, 100) << "as it was told then";
}

TEST(checkpoint, each_beginning_takes_a_term_of_its_own) {
  auto x = small_job();
  x.checkpoint.every_steps = 5;
  const memory_folder folder;
  uint64_t before = 0;
  for (size_t life = 0; life < 3; ++life) {
    test::train_in_order(x, life, folder.resuming(x));
    EXPECT_GT(folder.store()->read_term(), before);
    before = folder.store()->read_term();
  }
}

TEST(checkpoint, that_cannot_be_written_ends_the_run_and_costs_no_older_one) {
  auto x = small_job();
  x.checkpoint.every_steps = 2;
  for (const char* operation : {"create", "write", "sync", "rename", "sync_folder"}) {
    SCOPED_TRACE(operation);
    const memory_folder folder;
    {
      auto shorter = x;
      shorter.training.steps = 2;
      test::train_in_order(shorter, 0, folder.writing());
    }
    ASSERT_EQ(folder.store()->versions(), std::vector<uint64_t>{2});
    auto options = folder.resuming(x);
    folder.disk->failing = operation;
    folder.disk->passes = std::string{operation} == "write" ? 5 : 1; // after the term is written
    const auto finished = test::train_in_order(x, 1, options).finished;
    folder.disk->failing.clear();
    EXPECT_TRUE(finished.failed);
    EXPECT_EQ(static_cast<failure_code>(finished.failure), failure_code::io_error);
    EXPECT_NE(finished.problem.find("a checkpoint cannot be written: "), std::string::npos)
      << finished.problem;
    EXPECT_NE(finished.where.find("run/checkpoint-"), std::string::npos) << finished.where;
    EXPECT_FALSE(finished.hint.empty());
    const auto again = folder.resuming(x);
    ASSERT_TRUE(again.resume_from);
    EXPECT_LE(again.resume_from->version, 6u);
    EXPECT_TRUE(folder.disk->files.contains("run/checkpoint-000000000002.troupe"));
    expect_same(test::train_in_order(x, 2, again), test::train_in_order(small_job(), 0));
  }
}

TEST(checkpoint, one_of_another_shape_is_refused_before_anything_begins) {
  auto x = small_job();
  x.checkpoint.every_steps = 2;
  const memory_folder folder;
  test::train_in_order(x, 0, folder.writing());
  const auto good = folder.resuming(x);
  const auto refusal_of = [&](const std::function<void(troupe::checkpoint&)>& change) {
    auto options = good;
    change(*options.resume_from);
    try {
      test::train_in_order(x, 1, options);
    } catch (const failure& error) {
      EXPECT_EQ(error.code(), failure_code::bad_data);
      return error.reason();
    }
    return std::string{"none"};
  };
  using one = troupe::checkpoint;
  EXPECT_EQ(refusal_of([](one&) {}), "none");
  for (const std::function<void(one&)>& change : {
         std::function<void(one&)>{[](one& c) { c.optimizer_numbers.resize(200'000); }},
         std::function<void(one&)>{[](one& c) { c.slots.clear(); }},
         std::function<void(one&)>{[](one& c) { c.slots.push_back(c.parameters); }},
         std::function<void(one&)>{[](one& c) { c.parameters = buffer{3}; }},
         std::function<void(one&)>{[](one& c) { c.history.back().steps = 60; }},
       })
    EXPECT_NE(refusal_of(change).find("of another shape"), std::string::npos);
}

TEST(checkpoint, a_term_that_cannot_be_written_ends_the_run_before_it_begins) {
  auto x = small_job();
  x.checkpoint.every_steps = 2;
  const memory_folder folder;
  folder.disk->failing = "sync";
  const auto finished = test::train_in_order(x, 1, folder.writing()).finished;
  EXPECT_TRUE(finished.failed);
  EXPECT_EQ(static_cast<failure_code>(finished.failure), failure_code::io_error);
  EXPECT_NE(finished.where.find("run/term"), std::string::npos) << finished.where;
  EXPECT_TRUE(finished.history.empty());
}

TEST(checkpoint, a_run_that_diverges_waits_for_no_checkpoint_beyond_its_end) {
  auto x = wide_job();
  x.data.test_fraction = 0;
  x.training.steps = 8;
  auto before = x;
  before.training.steps = 3;
  const auto expected = test::train_in_order(before, 0).parameters;
  x.checkpoint.every_steps = 4;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    const memory_folder folder;
    auto options = folder.writing();
    options.shard_count = 3;
    hooks_of(options).poisoned_step = 3;
    hooks_of(options).poisoned_element = 14'000; // in the last block: the first shard passes it by
    hooks_of(options).poison = std::numeric_limits<float>::quiet_NaN();
    const auto outcome = test::train_in_order(x, seed, options);
    EXPECT_EQ(outcome.finished.version, 3u) << seed;
    EXPECT_EQ(outcome.parameters, expected) << seed;
    EXPECT_TRUE(folder.store()->versions().empty()) << seed;
  }
}

} // namespace
} // namespace troupe::checkpoint_test
