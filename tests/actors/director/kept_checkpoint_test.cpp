// Going on from a checkpoint where a parameter server owns all parameters: rounds end with the bits of a run
// that nobody disturbed, and no step of asynchronous training counts twice or never.

#include "data/text/failure.hpp"
#include "tests/actors/director/resumed_runs.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <set>

namespace troupe::kept_checkpoint_test {
namespace {

using namespace test;

/// 150 training rows in batches of 15: ten steps an epoch, three epochs. Four members, rounds of two.
job merging_job() {
  auto x = test::small_job();
  x.training.batch_size = 15;
  x.training.strategy = strategy_kind::parameters;
  x.training.slices.reset();
  x.training.members = 4;
  x.training.local_steps = 2;
  return x;
}

job asynchronous_job(consistency_kind consistency = consistency_kind::asynchronous) {
  auto x = test::small_job();
  x.training.batch_size = 15;
  x.training.slices.reset();
  x.training.consistency = consistency;
  x.optimizer.learning_rate = 0.01;
  return x;
}

struct kept_case {
  const char* name;
  std::function<void(job&)> change;
};

const std::vector<kept_case> cases{
  {"adam inside", [](job&) {}},
  {"a share of the way", [](job& x) { x.merge.outer = outer_options(outer_kind::sgd, 0.7); }},
  {"momentum outside",
   [](job& x) { x.merge.outer = outer_options(outer_kind::sgd, 0.7, 0.9, true); }},
  {"adam outside", [](job& x) { x.merge.outer.kind = outer_kind::adam; }},
  {"yogi and a mean",
   [](job& x) {
     x.merge.outer.kind = outer_kind::yogi;
     x.merge.averaging.kind = averaging_kind::mean;
   }},
  {"an average that forgets",
   [](job& x) {
     x.merge.averaging = {averaging_kind::exponential, 0.8};
   }},
  {"clients, adam outside and a mean",
   [](job& x) {
     x.optimizer = {};
     x.optimizer.learning_rate = 0.1;
     x.training = {};
     x.training.strategy = strategy_kind::federated;
     x.training.batch_size = 4;
     x.federated.clients = 12;
     x.federated.cohort = 5;
     x.federated.rounds = 9;
     x.federated.local_steps = 2;
     x.merge.outer.kind = outer_kind::adam;
     x.merge.averaging.kind = averaging_kind::mean;
   }},
  {"elastic members", [](job& x) { x.merge.elastic_alpha = 0.2; }},
  {"a norm that is clipped", [](job& x) { x.optimizer.clip_norm = 0.1; }},
  {"dropout", [](job& x) { x.model.dropout = 0.3; }},
  {"rounds that end with their epoch", [](job& x) { x.training.local_steps = 4; }},
  {"a last step that joins the round before",
   [](job& x) {
     x.training.local_steps = 1;
     x.training.batch_size = 21; // seven steps of 21 rows, and one of three
   }},
  {"median", [](job& x) { x.merge.members.rule = merge_rule::median; }},
  {"the best version",
   [](job& x) {
     x.data.validation_fraction = 0.2;
     x.optimizer.learning_rate = 0.5; // too much: it gets worse again
     x.training.patience = 3;
     x.training.epochs = 8;
   }},
};

TEST(kept_checkpoint, every_one_of_rounds_can_be_gone_on_from) {
  for (const auto& [name, change] : cases) {
    SCOPED_TRACE(name);
    auto x = merging_job();
    change(x);
    const auto undisturbed = test::train_in_order(x, 0);
    x.checkpoint.every_steps = 1;
    memory_folder folder;
    folder.keep = 1000;
    expect_same(test::train_in_order(x, 1, folder.writing()), undisturbed);
    const auto versions = folder.store()->versions();
    ASSERT_GE(versions.size(), 3u);
    for (const auto version : versions) {
      if (version == versions.back())
        break;
      SCOPED_TRACE("from version " + std::to_string(version));
      x.training.replicas = 1 + version % 5;
      auto options = memory_folder{}.writing();
      options.resume_from = folder.store()->open(version).read();
      expect_same(test::train_in_order(x, version, options), undisturbed);
    }
  }
}

TEST(kept_checkpoint, rounds_that_die_again_and_again_end_like_those_that_never_did) {
  for (const auto& [name, change] : cases) {
    SCOPED_TRACE(name);
    auto x = merging_job();
    change(x);
    const auto undisturbed = test::train_in_order(x, 0);
    x.checkpoint.every_steps = 3;
    size_t resumed_count = 0;
    for (uint64_t seed = 0; seed < 4; ++seed) {
      SCOPED_TRACE(seed);
      std::mt19937_64 random{seed};
      const memory_folder folder;
      for (size_t life = 0; life < 4; ++life) {
        x.training.replicas = 1 + random() % 5;
        const auto options = folder.resuming(x);
        resumed_count += options.resume_from ? 1 : 0;
        run_and_die(x, options, random(), random() % 250);
      }
      expect_same(test::train_in_order(x, seed, folder.resuming(x)), undisturbed);
    }
    EXPECT_GT(resumed_count, 2u) << "else little was shown";
  }
}

TEST(kept_checkpoint, rounds_that_are_made_longer_are_those_that_never_stopped) {
  auto x = merging_job();
  x.training.local_steps = 4; // rounds end at 4, 8 and 10
  const auto undisturbed = test::train_in_order(x, 0);
  x.checkpoint.every_steps = 10;
  for (const uint64_t steps : {4u, 7u, 10u, 12u, 14u, 20u, 23u}) {
    SCOPED_TRACE(steps);
    memory_folder folder;
    x.training.steps = steps;
    test::train_in_order(x, steps, folder.writing());
    EXPECT_EQ(folder.resuming(x).resume_from->version, steps) << "its own end is there";
    x.training.steps.reset();
    if (steps == 7) { // there is no other to go on from, and nothing begins anew in silence
      EXPECT_THROW(folder.resuming(x), failure);
      continue;
    }
    const auto options = folder.resuming(x);
    const bool is_round_end = steps % 10 == 0 || steps % 10 == 4 || steps % 10 == 8;
    EXPECT_EQ(options.resume_from->version == steps, is_round_end);
    expect_same(test::train_in_order(x, steps + 1, options), undisturbed);
  }
}

TEST(kept_checkpoint, rounds_that_were_stopped_go_on_as_if_they_had_not_been) {
  auto x = merging_job();
  const auto undisturbed = test::train_in_order(x, 0);
  x.checkpoint.every_steps = 100; // where it is stopped alone
  std::set<uint64_t> stops;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(seed);
    const memory_folder folder;
    test::ordered_company run{x, folder.writing()};
    std::mt19937_64 random{seed};
    run.begin();
    deliver(run, random, random() % 300);
    run.self()->send(run.actors().director(), atom::stop_v);
    run.run(random);
    const auto version = run.outcome().finished.version;
    const auto options = folder.resuming(x);
    ASSERT_EQ(options.resume_from ? options.resume_from->version : 0, version);
    stops.insert(version);
    x.training.replicas = 1 + seed % 3;
    expect_same(test::train_in_order(x, seed, options), undisturbed);
  }
  EXPECT_GT(stops.size(), 4u);
}

TEST(kept_checkpoint, one_trainer_that_waits_for_nobody_has_the_same_bits_again) {
  for (const auto& change : std::vector<std::function<void(job&)>>{
         [](job&) {}, [](job& x) { x.training.consistency = consistency_kind::bounded; },
         [](job& x) { x.optimizer = {}, x.optimizer.momentum = 0.9, x.optimizer.clip_norm = 0.5; },
         [](job& x) {
           x.optimizer.schedule.kind = schedule_kind::inverse_time;
           x.optimizer.schedule.steps = 4;
         }}) {
    auto x = asynchronous_job();
    x.training.replicas = 1;
    change(x);
    const auto undisturbed = test::train_in_order(x, 0);
    x.checkpoint.every_steps = 4;
    memory_folder folder;
    folder.keep = 100;
    expect_same(test::train_in_order(x, 1, folder.writing()), undisturbed);
    for (const auto version : folder.store()->versions()) {
      SCOPED_TRACE(version);
      auto options = memory_folder{}.writing();
      options.resume_from = folder.store()->open(version).read();
      expect_same(test::train_in_order(x, version, options), undisturbed);
    }
  }
}

// A bystander notes whose results each life took in. What came before a checkpoint was written is in
// it; so these and those of the next life from there on are all steps, each once.
TEST(kept_checkpoint, no_step_counts_twice_or_never_when_nobody_marches_in_step) {
  using enum consistency_kind;
  for (const auto& [mode, first_count] : {std::pair{asynchronous, 1u},
                                          {bounded, 1u},
                                          {half_synchronous, 1u},
                                          {half_synchronous, 2u},
                                          {half_synchronous, 3u},
                                          {lag, 1u}}) {
    SCOPED_TRACE(static_cast<int>(mode));
    SCOPED_TRACE(first_count);
    auto x = asynchronous_job(mode);
    x.training.replicas = 3;
    x.training.staleness_max = 2;
    x.training.first_count = first_count;
    x.checkpoint.every_steps = 7;
    size_t resumed_count = 0;
    for (uint64_t seed = 0; seed < 10; ++seed) {
      SCOPED_TRACE(seed);
      std::mt19937_64 random{seed};
      const memory_folder folder;
      std::vector<uint64_t> counted; // steps, of the lives so far
      test::company_outcome last;
      for (size_t life = 0; life < 5; ++life) {
        auto options = folder.resuming(x);
        const auto begin = options.resume_from ? options.resume_from->version : 0;
        ASSERT_LE(begin, counted.size());
        counted.resize(begin); // what came after it was lost with its life
        resumed_count += begin > 0;
        hooks_of(options).on_trainer = [&](const trainer_event& news) {
          if (news.what == trainer_event::kind::used || news.what == trainer_event::kind::discarded)
            counted.push_back(news.piece);
        };
        if (life < 4)
          run_and_die(x, options, random(), random() % 250);
        else
          last = test::train_in_order(x, seed, options);
      }
      ASSERT_FALSE(last.finished.failed) << last.finished.problem;
      EXPECT_EQ(last.finished.version, 30u);
      EXPECT_EQ(last.finished.history.size(), 3u);
      std::ranges::sort(counted);
      std::vector<uint64_t> each_once(30);
      std::ranges::generate(each_once, [n = uint64_t{0}]() mutable { return n++; });
      EXPECT_EQ(counted, each_once);
    }
    EXPECT_GT(resumed_count, 5u) << "else little was shown";
  }
}

TEST(kept_checkpoint, one_of_another_shape_is_refused_before_anything_begins) {
  for (auto x : {merging_job(), asynchronous_job()}) {
    x.checkpoint.every_steps = 10;
    const memory_folder folder;
    test::train_in_order(x, 0, folder.writing());
    const auto good = folder.resuming(x);
    const auto is_refused = [&](const std::function<void(checkpoint&)>& change) {
      auto options = good;
      change(*options.resume_from);
      try {
        test::train_in_order(x, 1, options);
      } catch (const failure& error) {
        EXPECT_EQ(error.code(), failure_code::bad_data);
        return true;
      }
      return false;
    };
    EXPECT_FALSE(is_refused([](checkpoint&) {}));
    EXPECT_TRUE(is_refused([](checkpoint& c) { c.slots.pop_back(); }));
    EXPECT_TRUE(is_refused([](checkpoint& c) { c.optimizer_numbers.push_back(0); }));
    EXPECT_TRUE(is_refused([](checkpoint& c) { c.optimizer_numbers.front() = -1; }));
  }
}

} // namespace
} // namespace troupe::kept_checkpoint_test
