// What a director says of the run: to whoever asks, and by itself when it stands still. Two
// processes are played; time is virtual.

#include "actors/director/director.hpp"
#include "actors/run/train.hpp"
#include "tests/support/heard.hpp"
#include "tests/support/training.hpp"

#include <caf/actor_cast.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/io/middleman.hpp>
#include <caf/scoped_actor.hpp>
#include <caf/send.hpp>

#include <gtest/gtest.h>

namespace troupe::director_status_test {
namespace {

using namespace std::chrono_literals;

class watched_director : public test::testing_system {
public:
  explicit watched_director(model_split split = {}) {
    self_.emplace(*system_);
    director_options options;
    options.rule.plan = {
      .row_count = 80, .batch_size = 8, .slice_count = 4, .epoch_count = 100, .step_limit = {}};
    options.membership.expected = {{"a", 1, 1}, {"b", 2, 0}};
    options.membership.home = "a";
    options.membership.slice_count = 4;
    options.membership.parameter_count = 10;
    options.membership.join_timeout = 60s;
    options.membership.split = std::move(split);
    options.job_sha256 = "0123";
    director_ = system_->spawn(director, options);
    caf::anon_send(director_, atom::watch_v, caf::actor_cast<observer_actor>(*self_));
    for (size_t i = 0; i < 2; ++i)
      nodes_.push_back(system_->spawn(test::played_peer, &unread_));
    caf::anon_send(director_, atom::begin_v);
    run();
  }

  ~watched_director() {
    for (const auto& node : nodes_)
      caf::anon_send_exit(node, caf::exit_reason::user_shutdown);
    caf::anon_send_exit(director_, caf::exit_reason::user_shutdown);
    run();
  }

  void join(size_t node, uint64_t incarnation = 7) {
    tell(member{names[node], incarnation, node + 1, 1 - node}, nodes_[node]);
  }

  void join_both() {
    join(0);
    join(1);
  }

  /// What the owner of the parameters says of its version.
  void progress(uint64_t to) {
    training_report news;
    news.term = 1;
    news.version = to;
    news.sums.sample_count = 8;
    tell(news);
  }

  void report(size_t node, uint64_t held, std::vector<awaited> waits = {}) {
    node_report news;
    news.name = names[node];
    news.incarnation = 7;
    news.view = {1, 1};
    news.held = held;
    news.replicas = {{held, 100, held}};
    news.wire.bytes_sent[0] = 5;
    news.waits = std::move(waits);
    news.figures = figures;
    tell(news);
  }

  template <class... Ts>
  void tell(const Ts&... message) {
    caf::anon_send(director_, message...);
    run();
  }

  void wait(milliseconds time) {
    for (milliseconds passed{0}; passed < time; passed += director_tick_interval) {
      scheduler_->advance_time(director_tick_interval);
      run();
    }
  }

  /// The lines about waiting since the last call.
  std::vector<std::string> lines() {
    std::vector<std::string> result;
    for (bool is_over = false; !is_over;)
      (*self_)->receive(
        [&](const training_progress& news) {
          if (!news.notice.empty())
            result.push_back(news.notice);
          version = news.version;
        },
        caf::after(0s) >> [&] { is_over = true; });
    return result;
  }

  training_status status() {
    training_status result;
    auto answer = (*self_)->request(director_, 10s, atom::status_v);
    run();
    answer.receive([&](const training_status& news) { result = news; },
                   [](const caf::error&) { FAIL(); });
    return result;
  }

  uint64_t version = 0;    ///< that progress told last
  trainer_figures figures; ///< of the next report

private:
  static constexpr const char* names[] = {"a", "b"};

  std::optional<caf::scoped_actor> self_;
  director_actor director_;
  std::vector<node_actor> nodes_;
  test::heard unread_;
};

using texts = std::vector<std::string>;

TEST(director_status, says_who_is_to_join_and_that_they_have) {
  watched_director run;
  run.join(0);
  run.wait(1900ms);
  EXPECT_EQ(run.lines(), texts{});
  run.wait(200ms);
  EXPECT_EQ(run.lines(), texts{"waiting for node b to join (58 s left)"});
  run.wait(4800ms);
  EXPECT_EQ(run.lines(), texts{});
  run.wait(200ms);
  EXPECT_EQ(run.lines(), texts{"waiting for node b to join (53 s left)"});
  EXPECT_EQ(run.status().phase, "waiting");
  run.join(1);
  run.wait(100ms);
  EXPECT_EQ(run.lines(), (texts{"everybody is here; training starts from version 0",
                                "the wait is over, after 7.2 s"}));
  EXPECT_EQ(run.status().phase, "training");
}

TEST(director_status, a_stop_ends_a_wait_for_others) {
  watched_director run;
  run.join(0);
  run.tell(atom::stop_v);
  run.wait(1950ms);
  EXPECT_EQ(run.status().phase, "waiting") << "they may be about to come";
  run.wait(100ms);
  EXPECT_EQ(run.status().phase, "failed");
}

TEST(director_status, says_who_holds_up_the_run_and_that_it_goes_on) {
  watched_director run;
  run.join_both();
  run.lines();
  run.progress(3);
  for (uint64_t second = 0; second < 3; ++second) {
    run.report(0, 3, {{"b", "gradients of step 3, slices 2-3"}});
    if (second == 0)
      run.report(1, 3, {{"a", "parameters of version 4"}});
    run.wait(1000ms);
  }
  EXPECT_EQ(run.lines(),
            texts{"waiting for node b: gradients of step 3, slices 2-3 (last heard 2.0 s ago)"});
  EXPECT_EQ(run.version, 3u) << "a line is no step back";
  EXPECT_EQ(run.status().late,
            (std::vector<late_process>{{"b", {"gradients of step 3, slices 2-3"}, 3000ms}}));
  run.report(0, 4);
  run.wait(50ms);
  EXPECT_EQ(run.lines(), texts{"the wait is over, after 3.1 s"});
  EXPECT_EQ(run.status().late, std::vector<late_process>{});
}

TEST(director_status, says_how_many_steps_a_roll_back_undoes) {
  watched_director run;
  run.join_both();
  run.progress(3);
  run.wait(100ms);
  run.lines();
  run.join(0, 8); // the owner of all parameters has begun anew
  run.wait(100ms);
  const auto lines = run.lines();
  ASSERT_FALSE(lines.empty());
  EXPECT_TRUE(lines.front().ends_with("; training starts from version 0 (3 steps again)"))
    << lines.front();
}

TEST(director_status, a_run_that_moves_says_nothing) {
  watched_director run;
  run.join_both();
  for (uint64_t version = 1; version < 20; ++version) {
    run.report(0, version, {{"b", "gradients"}});
    run.report(1, version);
    run.wait(1000ms);
  }
  EXPECT_EQ(run.lines(), texts{"everybody is here; training starts from version 0"});
}

TEST(director_status, says_how_fast_training_goes) {
  watched_director run;
  run.join_both();
  for (uint64_t i = 0; i < 5; ++i) {
    run.progress(10 + 20 * i);
    if (i < 4)
      run.wait(1000ms);
  }
  const auto status = run.status();
  EXPECT_EQ(status.version, 90u);
  EXPECT_EQ(status.last_version, 1000u);
  EXPECT_EQ(status.epoch, 9u);
  EXPECT_EQ(status.epochs, 100u);
  EXPECT_DOUBLE_EQ(status.steps_per_second, 20);
  EXPECT_DOUBLE_EQ(status.samples_per_second, 160);
  EXPECT_DOUBLE_EQ(status.seconds, 4);
}

TEST(director_status, shows_what_replicas_did_and_whose_wait_it_was) {
  watched_director run;
  run.join_both();
  run.figures = {7, {{{"b", 1}, {}}}};
  run.report(0, 5);
  run.figures = {};
  run.report(1, 5);
  EXPECT_EQ(run.status().figures, (trainer_figures{7, {{{"b", 1}, {}}}}));
}

model_split split_over_three() {
  model_split result;
  result.shape = {1, 3, 1};
  result.part_count = 3;
  result.segment_costs = {1};
  result.layers = {{0, 2}};
  return result;
}

TEST(director_status, says_what_each_replica_carries_of_a_split_model) {
  watched_director run{split_over_three()};
  run.join_both();
  run.figures.replicas = {{{"a", 0}, {}}, {{"b", 1}, {}}, {{"gone", 0}, {}}};
  run.report(0, 5);
  const auto status = run.status();
  EXPECT_EQ(status.nodes[0].partitions, (texts{"slices 0-3, layers 0-1, part 0 of 3"}));
  EXPECT_EQ(status.nodes[1].partitions,
            (texts{"slices 0-3, layers 0-1, part 1 of 3", "slices 0-3, layers 0-1, part 2 of 3"}));
  EXPECT_EQ(status.nodes[1].slices, 4u) << "the same ones, twice";
  ASSERT_EQ(status.figures.replicas.size(), 4u);
  EXPECT_EQ(status.figures.replicas[1].partition, "slices 0-3, layers 0-1, part 2 of 3");
  EXPECT_EQ(status.figures.replicas[2].partition, "");
  EXPECT_EQ(status.figures.replicas[3].who, (replica_name{"b", 0})) << "which no shard counts";
  EXPECT_EQ(status.figures.replicas[3].partition, "slices 0-3, layers 0-1, part 1 of 3");
}

TEST(director_status, says_how_many_replicas_a_group_lacks) {
  watched_director run{split_over_three()};
  run.join(0);
  EXPECT_EQ(run.status().waits_for,
            "waiting for b: a group needs 3 replicas (tensor 3, pipeline 1), 1 are here");
  run.wait(3s);
  const auto lines = run.lines();
  ASSERT_FALSE(lines.empty());
  EXPECT_EQ(lines.front(), "waiting for node b to join (58 s left): a group needs 3 replicas "
                           "(tensor 3, pipeline 1), 1 are here");
}

TEST(director_status, shows_every_node_of_the_file) {
  watched_director run;
  run.join(0);
  const auto before = run.status();
  ASSERT_EQ(before.nodes.size(), 2u);
  EXPECT_EQ(before.nodes[1].name, "b");
  EXPECT_FALSE(before.nodes[1].is_linked);
  EXPECT_EQ(before.nodes[1].replicas, 2u) << "of the file";
  EXPECT_EQ(before.nodes[1].silence, -1);
  run.join(1);
  run.report(1, 5, {{"a", "parameters of version 6"}});
  run.wait(500ms);
  const auto status = run.status();
  EXPECT_EQ(status.view, (view_number{1, 1}));
  EXPECT_EQ(status.job_sha256, "0123");
  EXPECT_EQ(status.replicas, 3u);
  EXPECT_EQ(status.shards, 1u);
  const node_status a{"a", true, true, true, 1, 1, 1, 1, {}, {}, {}, -1, 0, {}};
  EXPECT_EQ(status.nodes[0], a);
  const node_status b{"b", false, true, true, 2, 0, 3, 0, 5, {}, {{"a", "parameters of version 6"}},
                      0.5, 100,   {{5}}};
  EXPECT_EQ(status.nodes[1], b);
}

// The director answers while all cores compute, also to another process: it has a thread of its
// own, and nothing between it and the socket waits for a computing thread.

struct networked_config : caf::actor_system_config {
  explicit networked_config(size_t threads) {
    configure(*this);
    load<caf::io::middleman>();
    set("scheduler.policy", caf::atom("sharing"));
    set("scheduler.max-threads", threads);
    set("scheduler.max-throughput", size_t{3});
    set("middleman.workers", size_t{0}); // messages are read by the network's own thread
  }
};

TEST(director, answers_another_system_over_loopback_while_all_cores_compute) {
  auto x = test::small_job();
  x.data.rows = 4000;
  x.data.features = 300;
  x.model.hidden = {512, 512}; // a step takes tens of milliseconds of both cores
  x.training.batch_size = 1000;
  x.training.slices = 2;
  x.training.epochs = 1'000'000;
  networked_config config{2}, asking_config{1};
  caf::actor_system system{config}, asking{asking_config};
  const auto data = load_data(x);
  const company everybody{system, resolve(x, shape_of(*data), 2), data};
  const auto port = system.middleman().publish(everybody.director(), 0, "127.0.0.1");
  ASSERT_TRUE(port) << system.render(port.error());
  const auto director = asking.middleman().remote_actor<director_actor>("127.0.0.1", *port);
  ASSERT_TRUE(director) << asking.render(director.error());
  caf::scoped_actor self{asking};
  self->send(*director, atom::begin_v);

  using clock = std::chrono::steady_clock;
  std::vector<clock::duration> waits;
  uint64_t version = 0;
  // Until steps have been done, but at least a few hundred questions; a loaded machine takes long.
  const auto deadline = clock::now() + std::chrono::minutes{5};
  while (clock::now() < deadline && (waits.size() < 300 || version < 3)) {
    const auto begin = clock::now();
    self->request(*director, std::chrono::seconds{5}, atom::status_v)
      .receive(
        [&](const training_status& status) {
          EXPECT_NE(status.phase, "failed");
          version = status.version;
        },
        [&](const caf::error& problem) { FAIL() << asking.render(problem); });
    waits.push_back(clock::now() - begin);
  }
  EXPECT_GE(version, 3u) << "training went on meanwhile";
  std::ranges::sort(waits);
  const auto in_milliseconds = [](clock::duration time) {
    return std::chrono::duration<double, std::milli>(time).count();
  };
  // Who had to wait for steps to end would get an answer a step at most.
  EXPECT_LT(version, waits.size() / 2);
  RecordProperty("median_ms", std::to_string(in_milliseconds(waits[waits.size() / 2])));
  RecordProperty("worst_ms", std::to_string(in_milliseconds(waits.back())));
}

} // namespace
} // namespace troupe::director_status_test
