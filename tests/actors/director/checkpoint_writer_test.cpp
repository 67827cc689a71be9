// Checkpoints that take long to write: the director answers meanwhile, training goes on as far as
// the next one, and nobody is told of an end that is not on the disk. On real threads.

#include "actors/director/checkpoint_writer.hpp"
#include "tests/support/plain_disk.hpp"
#include "tests/support/training.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace troupe::checkpoint_writer_test {

namespace {

using namespace std::chrono_literals;

/// A new file with this in its name is made once the gate is open.
class gated_disk final : public plain_disk {
public:
  explicit gated_disk(std::string name) : name_(std::move(name)) {}

  std::unique_ptr<disk_writer> create(const std::string& path, uint32_t mode) override {
    if (path.find(name_) != std::string::npos) {
      std::unique_lock lock{mutex_};
      is_waiting_ = true;
      changed_.notify_all();
      changed_.wait(lock, [this] { return is_open_; });
    }
    return plain_disk::create(path, mode);
  }

  void open() {
    const std::lock_guard lock{mutex_};
    is_open_ = true;
    changed_.notify_all();
  }

  /// True once somebody waits at the gate.
  bool holds_somebody() {
    std::unique_lock lock{mutex_};
    return changed_.wait_for(lock, 60s, [this] { return is_waiting_; });
  }

private:
  std::string name_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_waiting_ = false;
  bool is_open_ = false;
};

/// 15 steps, checkpoints at 4, 8, 12 and at the end.
job checkpointed_job() {
  auto x = test::small_job();
  x.checkpoint.every_steps = 4;
  return x;
}

class slow_disk_run {
public:
  explicit slow_disk_run(const std::string& held_name)
    : disk(std::make_shared<gated_disk>(held_name)) {
    const auto x = checkpointed_job();
    const auto data = load_data(x);
    company_options options;
    options.checkpoints = std::make_shared<checkpoint_store>(disk, "run", 100);
    company_.emplace(*host_.system, resolve(x, shape_of(*data), 2), data, options);
    self_->send(company_->director(), atom::watch_v, caf::actor_cast<observer_actor>(self_));
    self_->send(company_->director(), atom::begin_v);
  }

  ~slow_disk_run() {
    disk->open(); // else nothing here would ever end
    end();
  }
  slow_disk_run(const slow_disk_run&) = delete;
  slow_disk_run& operator=(const slow_disk_run&) = delete;

  training_status status() {
    training_status result;
    self_->request(company_->director(), 10s, atom::status_v)
      .receive([&](const training_status& news) { result = news; },
               [&](const caf::error& problem) { ADD_FAILURE() << host_.system->render(problem); });
    return result;
  }

  /// The status once it says that a checkpoint is waited for.
  training_status status_when_it_waits() {
    auto result = status();
    for (size_t i = 0; i < 6'000 && result.waits_for != "a checkpoint to be written"; ++i) {
      std::this_thread::sleep_for(10ms);
      result = status();
    }
    return result;
  }

  /// The end, if it is told within this time.
  std::optional<training_finished> finished(milliseconds within) {
    std::optional<training_finished> result;
    for (bool is_over = false; !result && !is_over;)
      self_->receive([](const training_progress&) {},
                     [&](const training_finished& news) { result = news; },
                     caf::after(within) >> [&] { is_over = true; });
    return result;
  }

  std::vector<float> parameters() {
    std::vector<float> result;
    self_->request(company_->director(), 10s, atom::pull_v)
      .receive([&](const trained_model& whole) { result = test::values_of(whole.parameters); },
               [](const caf::error&) {});
    return result;
  }

  void end() { company_.reset(); }

  std::shared_ptr<gated_disk> disk;

private:
  test::real_system host_{2};
  caf::scoped_actor self_{*host_.system};
  std::optional<company> company_;
};

std::vector<uint64_t> versions_on(const std::shared_ptr<gated_disk>& disk) {
  return checkpoint_store{disk, "run", 100}.versions();
}

} // namespace

TEST(checkpoint_writer, status_is_answered_while_a_checkpoint_is_written_and_training_goes_on) {
  slow_disk_run run{"checkpoint-000000000004"};
  ASSERT_TRUE(run.disk->holds_somebody());
  const auto status = run.status_when_it_waits();
  EXPECT_EQ(status.phase, "training");
  EXPECT_EQ(status.version, 8u) << "as far as the next checkpoint, and no further";
  EXPECT_FALSE(run.finished(200ms));
  EXPECT_EQ(run.status().version, 8u);
  run.disk->open();
  const auto finished = run.finished(60s);
  ASSERT_TRUE(finished);
  EXPECT_FALSE(finished->failed) << finished->problem;
  EXPECT_EQ(finished->version, 15u);
  EXPECT_EQ(run.parameters(), test::values_of(test::train_on(2, test::small_job()).parameters));
  run.end();
  EXPECT_EQ(versions_on(run.disk), (std::vector<uint64_t>{4, 8, 12, 15})) << "none is left out";
}

TEST(checkpoint_writer, a_run_is_over_once_its_last_checkpoint_is_written) {
  slow_disk_run run{"checkpoint-000000000015"};
  ASSERT_TRUE(run.disk->holds_somebody());
  const auto status = run.status_when_it_waits();
  EXPECT_EQ(status.phase, "stopping");
  EXPECT_EQ(status.version, 15u);
  EXPECT_FALSE(run.finished(200ms));
  run.disk->open();
  const auto finished = run.finished(60s);
  ASSERT_TRUE(finished);
  EXPECT_FALSE(finished->failed) << finished->problem;
  EXPECT_EQ(versions_on(run.disk).back(), 15u);
}

TEST(checkpoint_writer, training_begins_once_the_term_is_written) {
  slow_disk_run run{"term"};
  ASSERT_TRUE(run.disk->holds_somebody());
  EXPECT_EQ(run.status().phase, "waiting");
  EXPECT_EQ(run.status().waits_for, "the term to be written");
  EXPECT_FALSE(run.finished(100ms));
  EXPECT_EQ(run.status().version, 0u);
  run.disk->open();
  const auto finished = run.finished(60s);
  ASSERT_TRUE(finished);
  EXPECT_EQ(finished->version, 15u);
}

TEST(checkpoint_writer, ends_with_its_director_once_the_write_at_hand_is_done) {
  slow_disk_run run{"checkpoint-000000000004"};
  ASSERT_TRUE(run.disk->holds_somebody());
  EXPECT_EQ(run.status_when_it_waits().version, 8u)
    << "all of it is ordered, not a part of it alone";
  std::atomic<bool> has_opened = false;
  std::thread opener{[&] {
    std::this_thread::sleep_for(100ms);
    has_opened = true;
    run.disk->open();
  }};
  run.end();
  EXPECT_TRUE(has_opened);
  opener.join();
  EXPECT_EQ(versions_on(run.disk), (std::vector<uint64_t>{4})) << "what was begun is whole";
}

} // namespace troupe::checkpoint_writer_test
