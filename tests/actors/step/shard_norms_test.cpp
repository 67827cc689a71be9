// The round of norms, seen by one shard: we play its replica, the other shard and the director.

#include "actors/step/shard.hpp"
#include "coordinators/step/placement.hpp"
#include "models/optimizers/optimizer.hpp"
#include "tests/support/heard.hpp"
#include "tests/support/testing_system.hpp"

#include <caf/scoped_actor.hpp>
#include <caf/send.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

namespace troupe::shard_norms_test {
namespace {

/// One slice of four rows a step, plain descent with rate 1, norms clipped to 1. Two blocks: the
/// shard under test has the first, its parameter 0 is 10.
class shard_norms : public ::testing::Test, public test::testing_system {
protected:
  shard_norms() {
    optimizer_options descent;
    descent.learning_rate = 1;
    descent.clip_norm = 1;
    shard_options options;
    options.rule = make_optimizer(descent);
    options.versions = std::make_shared<version_buffers>(block_size + 2);
    options.parameter_count = block_size + 2;
    options.plan = {8, 4, 1, 2, std::nullopt, 1};
    options.changes = regularization{descent, {}};
    std::ranges::fill(options.versions->of(0).values(), 0.0f);
    options.versions->of(0).values()[0] = 10;
    everybody_.director = system_->spawn(test::played_reports, &notes_);
    everybody_.replicas = {{system_->spawn(test::played_replica, &notes_), {0, 1}}};
    everybody_.shards = {{system_->spawn(troupe::shard, options), {0, 1}},
                         {system_->spawn(test::played_shard, &notes_), {1, 2}}};
    send(everybody_);
  }

  ~shard_norms() override {
    caf::anon_send_exit(everybody_.director, caf::exit_reason::kill);
    caf::anon_send_exit(everybody_.replicas[0].actor, caf::exit_reason::kill);
    for (const auto& entry : everybody_.shards)
      caf::anon_send_exit(entry.actor, caf::exit_reason::kill);
    run();
  }

  template <class T>
  void send(const T& message) {
    caf::anon_send(everybody_.shards[0].actor, message);
    run();
  }

  /// A gradient of one element: `mean` over the step's four rows.
  static contribution work(uint64_t step, float mean) {
    buffer values{block_size};
    values.values()[0] = 4 * mean;
    return {step, {0, 1}, 0, payload{values, 0, block_size}, {1.5, 4, 0, 0}, 0, 0};
  }

  float newest() const { return notes_.spans.back().values.values()[0]; }

  test::heard notes_;

private:
  view everybody_;
};

TEST_F(shard_norms, waits_until_it_knows_the_norm_of_the_whole_gradient) {
  send(work(0, 3));
  ASSERT_EQ(notes_.norms.size(), 1u);
  EXPECT_EQ(notes_.norms[0], (block_sums{0, 0, {9}}));
  EXPECT_EQ(notes_.spans.size(), 1u) << "still version 0";
  send(block_sums{0, 1, {16}}); // norm 5, factor 1 / 5
  ASSERT_EQ(notes_.spans.size(), 2u);
  EXPECT_EQ(notes_.spans[1].version, 1u);
  EXPECT_FLOAT_EQ(newest(), 10 - 0.6f);
}

TEST_F(shard_norms, of_another_shard_may_come_before_its_own_gradient) {
  send(block_sums{0, 1, {16}});
  EXPECT_EQ(notes_.spans.size(), 1u);
  send(work(0, 3));
  ASSERT_EQ(notes_.spans.size(), 2u);
  EXPECT_FLOAT_EQ(newest(), 10 - 0.6f);
}

TEST_F(shard_norms, below_the_limit_leave_the_gradient_as_it_is) {
  send(work(0, 0.5f));
  send(block_sums{0, 1, {0.5}});
  EXPECT_EQ(newest(), 9.5f);
}

TEST_F(shard_norms, that_come_again_or_late_change_nothing) {
  send(work(0, 3));
  send(work(0, 3)); // the gradient again, while the norm is awaited
  EXPECT_EQ(notes_.norms.size(), 1u);
  send(block_sums{0, 1, {16}});
  send(block_sums{0, 1, {16}});
  send(block_sums{0, 1, {99}}); // of a step that is over
  send(block_sums{1, 7, {1}});  // of no block
  EXPECT_EQ(notes_.spans.size(), 2u);
  send(work(1, 3));
  EXPECT_EQ(notes_.spans.size(), 2u) << "each step needs its own norms";
  send(block_sums{1, 1, {16}});
  EXPECT_EQ(notes_.spans.size(), 3u);
  EXPECT_FLOAT_EQ(newest(), 10 - 1.2f);
  EXPECT_TRUE(notes_.not_finite.empty());
}

TEST_F(shard_norms, that_contradict_each_other_end_the_run) {
  send(block_sums{0, 1, {16}});
  send(block_sums{0, 1, {17}});
  ASSERT_EQ(notes_.not_finite.size(), 1u);
  EXPECT_EQ(notes_.not_finite[0].what, "two different sums over one block");
  send(work(0, 3));
  EXPECT_EQ(notes_.spans.size(), 1u) << "nothing is applied any more";
}

TEST_F(shard_norms, of_a_gradient_that_is_not_finite_are_not_sent) {
  send(work(0, std::numeric_limits<float>::infinity()));
  EXPECT_TRUE(notes_.norms.empty());
  ASSERT_EQ(notes_.not_finite.size(), 1u);
  EXPECT_EQ(notes_.not_finite[0].what, "the gradient or loss of slice 0");
}

} // namespace
} // namespace troupe::shard_norms_test
