// A replica alone: it adds what other replicas of its process computed, and holds.

#include "actors/protocol/boundary_messages.hpp"
#include "actors/step/replica.hpp"
#include "coordinators/step/placement.hpp"
#include "tests/support/training.hpp"

#include <gtest/gtest.h>

namespace troupe::replica_test {

namespace {

using namespace std::chrono_literals;

struct told {
  std::vector<contribution> sums;
  std::vector<uint64_t> holds; ///< first steps not begun
};

relay_actor::behavior_type listener(relay_actor::pointer, told* heard) {
  return {
    [=](const contribution& news) { heard->sums.push_back(news); },
    [](const boundary&) {},
    [](const segment_request&) {},
    [](const parameter_span&) {},
    [](const block_sums&) {},
    [=](atom::held, uint64_t, uint64_t, uint64_t next_step) { heard->holds.push_back(next_step); },
    [](const shard_copy&) {},
  };
}

/// A replica on a clock of its own.
class lone_replica {
public:
  explicit lone_replica(const replica_options& options) {
    configure(config_);
    config_.set("scheduler.policy", caf::atom("testing"));
    system_ = std::make_unique<caf::actor_system>(config_);
    it_ = system_->spawn(replica, options);
    news.term = 1;
    news.relay = system_->spawn(listener, &heard);
  }

  ~lone_replica() {
    caf::anon_send_exit(it_, caf::exit_reason::kill);
    caf::anon_send_exit(news.relay, caf::exit_reason::kill);
    run();
  }

  caf::scheduler::test_coordinator& scheduler() {
    return dynamic_cast<caf::scheduler::test_coordinator&>(system_->scheduler());
  }

  template <class... Message>
  void hear(const Message&... message) {
    caf::anon_send(it_, message...);
    run();
  }

  /// It has these slices.
  void see(const index_range& slices) {
    news.replicas = {{it_, slices}};
    hear(news);
  }

  view news;
  told heard;

private:
  void run() {
    while (scheduler().try_run_once()) {
    }
  }

  caf::actor_system_config config_;
  std::unique_ptr<caf::actor_system> system_;
  replica_actor it_;
};

} // namespace

TEST(replica_sums, what_others_computed_takes_no_time_but_that_of_adding) {
  replica_options options;
  options.gradients = std::make_shared<buffer_pool>(2);
  options.plan = {8, 4, 2, 2, std::nullopt, 1};
  lone_replica adder{options};
  adder.see({});
  adder.scheduler().advance_time(1h); // since the machine began, say
  buffer part{2};
  part.values()[0] = 3;
  part.values()[1] = 4;
  const contribution one{5, {0, 1}, 0, payload{part, 0, 2}, {1.5, 2, 0, 0}, 0, 1};
  adder.hear(summation{1, 5, {0, 1}, {{0}}, {one}});
  ASSERT_EQ(adder.heard.sums.size(), 1u);
  EXPECT_EQ(adder.heard.sums[0].gradient_sum.values()[1], 4);
  EXPECT_EQ(adder.heard.sums[0].computed, 0ns) << "the test's clock stands still meanwhile";
}

// What it had begun before a view made it begin anew may be under way: the stop version is beyond it.
TEST(replica_hold, counts_what_was_begun_in_an_earlier_view_of_the_term) {
  const auto data = load_data(test::small_job());
  const auto job = resolve(test::small_job(), shape_of(*data), 1);
  replica_options options;
  options.network = make_model(job, shape_of(*data));
  options.plan = timeline_of(job, shape_of(*data));
  options.rows = std::make_shared<const job_rows>(rows_of(data), options.plan, job.seed, 1);
  const auto size = options.network->layout().size();
  options.gradients = std::make_shared<buffer_pool>(size);
  lone_replica x{options};
  x.news.wired = true;
  x.news.shards = {{{}, {0, block_count(size)}}};
  x.see({0, 8});
  x.hear(horizon{{9, false}, 0});
  x.hear(parameter_span{1, 0, 0, payload{const_buffer{buffer{size}}, 0, size}, {}});
  EXPECT_FALSE(x.heard.sums.empty()) << "step 0 was begun";
  ++x.news.number;
  ++x.news.restarts;
  x.see({0, 8});
  x.hear(atom::hold_v, uint64_t{1});
  ++x.news.number;
  x.see({}); // a spare now
  x.hear(atom::hold_v, uint64_t{2});
  ++x.news.term; // nothing of the terms before counts
  x.see({0, 8});
  x.hear(atom::hold_v, uint64_t{3});
  EXPECT_EQ(x.heard.holds, (std::vector<uint64_t>{1, 1, 0}));
}

} // namespace troupe::replica_test
