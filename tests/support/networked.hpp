// Whole clusters in one test: each process has an actor system of its own, and they meet over real
// sockets of the loopback.

#pragma once

#include "actors/net/process/networked_process.hpp"
#include "actors/run/job_data.hpp"
#include "coordinators/job/resolve.hpp"
#include "data/text/failure.hpp"
#include "tests/support/training.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace troupe::test {

/// A plan on free ports: the first process is the director's unless told otherwise.
inline troupe::cluster_plan plan_of(std::vector<cluster_node> nodes, size_t director = 0) {
  troupe::cluster_plan plan;
  plan.nodes = std::move(nodes);
  for (size_t i = 0; i < plan.nodes.size(); ++i) {
    plan.nodes[i].name = std::string(1, static_cast<char>('a' + i));
    plan.nodes[i].address = "127.0.0.1:0";
    plan.nodes[i].is_director = i == director;
  }
  plan.timeouts = {milliseconds{200}, milliseconds{10'000}, milliseconds{20'000}};
  return plan;
}

inline cluster_node bringing(size_t replicas, size_t shards) {
  return {{}, {}, {}, false, replicas, shards};
}

/// One process: its actor system, its part, and a thread that waits for its end.
class test_node {
public:
  test_node(const networked_options& options) : name_(options.own_name) {
    configure_node(config_, options.cluster.timeouts);
    config_.set("scheduler.policy", caf::atom("sharing"));
    config_.set("scheduler.max-threads", size_t{1});
    system_.emplace(config_);
    auto copy = options;
    copy.on_news = [this](const std::string& line) {
      const std::lock_guard guard{mutex_};
      news_ += line + '\n';
    };
    copy.on_progress = [this, was = options.on_progress](const training_progress& progress) {
      version_ = progress.version;
      if (was)
        was(progress);
    };
    copy.stop_requested = [this] {
      if (dies_)
        throw failure(failure_code::terminated, "killed");
      return leaves_.load();
    };
    part_ = std::make_unique<networked_process>(*system_, std::move(copy));
  }

  ~test_node() { leave(); }

  uint16_t port() const { return part_->port(); }
  void begin() {
    end_ = std::async(std::launch::async, [this] {
      struct on_return {
        std::unique_ptr<networked_process>& part;
        ~on_return() { part.reset(); }
      } guard{part_};
      return part_->wait();
    });
  }

  /// Asks to stop: the director ends training, others leave.
  void stop() { leaves_ = true; }

  /// The end; throws what the process throws.
  networked_end end() { return end_.get(); }
  bool has_ended(milliseconds patience) const {
    return end_.wait_for(patience) == std::future_status::ready;
  }

  /// Ends without a word to the others, the director too: its waiting thread is told to throw.
  void leave() {
    leaves_ = true;
    dies_ = true;
    if (end_.valid())
      try {
        end_.get();
      } catch (const failure&) {
      }
    part_.reset();
    system_.reset();
  }

  /// What it said about the others.
  std::string news() const {
    const std::lock_guard guard{mutex_};
    return news_;
  }
  uint64_t version() const { return version_; }

private:
  std::string name_;
  caf::actor_system_config config_;
  std::optional<caf::actor_system> system_;
  mutable std::mutex mutex_;
  std::string news_;
  std::atomic<uint64_t> version_ = 0;
  std::atomic<bool> leaves_ = false;
  std::atomic<bool> dies_ = false;
  std::unique_ptr<networked_process> part_;
  std::future<networked_end> end_;
};

/// All processes of a plan, in its order.
class test_cluster {
public:
  test_cluster(const job& x, troupe::cluster_plan plan) : plan_(std::move(plan)) {
    data_ = load_data(x);
    resolved_ = resolve(x, shape_of(*data_), 2);
    nodes_.resize(plan_.nodes.size());
  }

  networked_options options_of(size_t index) const {
    networked_options options;
    options.cluster = plan_;
    options.own_name = plan_.nodes[index].name;
    options.resolved = resolved_;
    options.data = data_;
    options.on_progress = on_progress;
    return options;
  }

  /// Of a process that the plan does not list, and lets join.
  networked_options options_of_joiner(const std::string& name) const {
    auto options = options_of(0);
    options.own_name = name;
    options.cluster.nodes.push_back(
      {name, {}, plan_.join->listen, false, plan_.join->replica_count, plan_.join->shard_count});
    options.cluster.nodes.back().is_listed = false;
    return options;
  }

  test_node& start(size_t index) { return start(index, options_of(index)); }
  test_node& start(size_t index, const networked_options& options) {
    nodes_[index] = std::make_unique<test_node>(options);
    plan_.nodes[index].address = "127.0.0.1:" + std::to_string(nodes_[index]->port());
    nodes_[index]->begin();
    return *nodes_[index];
  }
  void start_all() {
    const auto leads = [this](size_t i) { return plan_.nodes[i].is_director; };
    for (const bool is_director : {true, false}) // all others dial it
      for (size_t i = 0; i < nodes_.size(); ++i)
        if (leads(i) == is_director)
          start(i);
  }

  test_node& operator[](size_t index) { return *nodes_[index]; }
  const test_node& operator[](size_t index) const { return *nodes_[index]; }
  const job& resolved() const { return resolved_; }
  const troupe::cluster_plan& plan() const { return plan_; }
  /// Called on the director's waiting thread.
  std::function<void(const training_progress&)> on_progress;

private:
  troupe::cluster_plan plan_;
  job resolved_;
  std::shared_ptr<const prepared_data> data_;
  std::vector<std::unique_ptr<test_node>> nodes_;
};

/// All of them, started.
inline test_cluster started(const job& x, troupe::cluster_plan plan) {
  test_cluster result{x, std::move(plan)};
  result.start_all();
  return result;
}

inline std::vector<float> alone(const job& x) {
  return values_of(test::train_on(2, x).parameters);
}

inline std::vector<float> parameters_of(const networked_end& end) {
  return end.training ? values_of(end.training->parameters) : std::vector<float>{};
}

inline void wait_for_version(const test::test_node& director, uint64_t version) {
  for (int i = 0; i < 1'000 && director.version() < version; ++i)
    std::this_thread::sleep_for(milliseconds{10});
  EXPECT_FALSE(director.has_ended(milliseconds{0})) << "the run is too short for this test";
}

/// Whether it says so soon: what it hears is told on another thread.
inline bool says(const test::test_node& node, const std::string& words) {
  for (int i = 0; i < 500 && node.news().find(words) == std::string::npos; ++i)
    std::this_thread::sleep_for(milliseconds{10});
  return node.news().find(words) != std::string::npos;
}

/// Trains until it is stopped. Two blocks of parameters, so that two shards have a span each.
inline job endless_job() {
  auto x = small_job();
  x.model.hidden = {512};
  x.training.epochs = 1'000'000;
  x.training.evaluate_every = 1'000;
  return x;
}

/// Stops an endless run, whose bits must be those of one process up to that version.
inline networked_end stopped_as_alone(test_cluster& cluster) {
  cluster[0].stop();
  auto end = cluster[0].end();
  auto shorter = endless_job();
  shorter.training.steps = end.training->summary.steps;
  EXPECT_EQ(parameters_of(end), alone(shorter));
  return end;
}

} // namespace troupe::test
