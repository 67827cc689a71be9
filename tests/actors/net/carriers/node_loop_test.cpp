// Who takes the turns of a node's loop.

#include "actors/net/carriers/node_loop.hpp"

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/scoped_actor.hpp>
#include <caf/send.hpp>

#include <gtest/gtest.h>

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <thread>

namespace troupe::node_loop_test {
namespace {

using namespace std::chrono_literals;

class one_worker : public testing::Test {
protected:
  one_worker() {
    config_.set("scheduler.max-threads", 1);
    share_work(config_);
    system_.emplace(config_);
    loop_ = std::make_shared<node_loop>(*system_);
    loop_->start();
  }
  ~one_worker() override { loop_->stop(); }

  /// Waits for it; false after a while.
  static bool becomes(const std::atomic<bool>& x) {
    const auto end = std::chrono::steady_clock::now() + 20s;
    while (!x && std::chrono::steady_clock::now() < end)
      std::this_thread::yield();
    return x;
  }

  caf::actor_system_config config_;
  std::optional<caf::actor_system> system_;
  std::shared_ptr<node_loop> loop_;
};

// There and back many times: a wake that is lost would stop it.
TEST_F(one_worker, takes_turns_itself_while_it_waits_for_them) {
  constexpr int rounds = 20'000;
  std::atomic<int> by_worker{0};
  std::atomic<bool> is_over{false};
  const auto driver = system_->spawn([&](caf::event_based_actor* self) -> caf::behavior {
    return {[&, self](int left) {
      if (left == 0) {
        is_over = true;
        return;
      }
      loop_->post([&, left, me = caf::actor{self}] {
        by_worker += job_begin_of(*system_) ? 1 : 0;
        caf::anon_send(me, left - 1);
      });
    }};
  });
  caf::anon_send(driver, rounds);
  EXPECT_TRUE(becomes(is_over));
  EXPECT_GT(by_worker, rounds / 10);
}

TEST_F(one_worker, leaves_them_to_the_loops_thread_while_it_computes) {
  std::atomic<int> by_worker{0};
  std::atomic<int> in_time{0};
  std::atomic<bool> is_over{false};
  const auto driver = system_->spawn([&](caf::event_based_actor*) -> caf::behavior {
    return {[&](int) {
              const auto done = std::make_shared<std::atomic<bool>>(false);
              loop_->post([&, done] {
                by_worker += job_begin_of(*system_) ? 1 : 0;
                *done = true;
              });
              in_time += becomes(*done) ? 1 : 0;
            },
            [&](bool) { is_over = true; }};
  });
  for (int i = 0; i < 50; ++i)
    caf::anon_send(driver, i);
  caf::anon_send(driver, true);
  EXPECT_TRUE(becomes(is_over));
  EXPECT_EQ(in_time, 50);
  EXPECT_EQ(by_worker, 0);
}

TEST_F(one_worker, hears_of_sockets_asleep_or_not) {
  const owned_socket bell{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  std::atomic<uint64_t> heard{0};
  loop_->post([&] {
    loop_->watch(bell.get(), EPOLLIN, [&](uint32_t) {
      uint64_t count = 0;
      if (::read(bell.get(), &count, sizeof(count)) > 0)
        heard += count;
    });
  });
  for (uint64_t k = 1; k <= 40; ++k) {
    if (k % 8 == 0)
      std::this_thread::sleep_for(2ms); // all sleep
    const uint64_t one = 1;
    ASSERT_EQ(::write(bell.get(), &one, sizeof(one)), static_cast<ssize_t>(sizeof(one)));
    for (int i = 0; i < 20'000 && heard < k; ++i)
      std::this_thread::sleep_for(1ms);
    ASSERT_EQ(heard, k);
  }
  std::atomic<bool> is_over{false};
  loop_->post([&] {
    loop_->forget(bell.get());
    is_over = true;
  });
  EXPECT_TRUE(becomes(is_over));
}

} // namespace
} // namespace troupe::node_loop_test
