// The director answers while all cores compute, also to another process: it has a thread of its
// own, and nothing between it and the socket waits for a computing thread.

#include "tests/support/training.hpp"

#include <caf/io/middleman.hpp>

#include <gtest/gtest.h>

namespace troupe::director_latency_test {

namespace {

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

} // namespace

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

} // namespace troupe::director_latency_test
