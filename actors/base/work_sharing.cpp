#include "troupe/actors/base/work_sharing.hpp"

#include <caf/actor_system_config.hpp>
#include <caf/policy/unprofiled.hpp>
#include <caf/resumable.hpp>
#include <caf/scheduler/coordinator.hpp>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

namespace troupe {

namespace {

/// Jobs of all workers, first in, first out.
class job_queue {
public:
  void push(caf::resumable* job) {
    bool wakes = false;
    {
      const std::lock_guard guard{mutex_};
      jobs_.push_back(job);
      job_count_.store(jobs_.size(), std::memory_order_release);
      // Who looks out takes a job without being woken.
      wakes = sleeping_ > 0 && jobs_.size() > looking_;
    }
    if (wakes)
      changed_.notify_one();
  }

  caf::resumable* pop() {
    std::unique_lock guard{mutex_};
    if (jobs_.empty()) {
      const busy_pause pause{idle_count_};
      ++looking_;
      guard.unlock();
      look_out();
      guard.lock();
      --looking_;
      if (jobs_.empty()) {
        ++sleeping_;
        changed_.wait(guard, [this] { return !jobs_.empty(); });
        --sleeping_;
      }
    }
    return take();
  }

  /// Threads that have nothing to do.
  size_t idle_count() const { return idle_count_.load(std::memory_order_relaxed); }

  /// Null when there is none.
  caf::resumable* try_pop() {
    const std::lock_guard guard{mutex_};
    return jobs_.empty() ? nullptr : take();
  }

private:
  struct busy_pause {
    explicit busy_pause(std::atomic<size_t>& count) : count_(count) { ++count_; }
    ~busy_pause() { --count_; }
    std::atomic<size_t>& count_;
  };

  caf::resumable* take() {
    auto* const job = jobs_.front();
    jobs_.pop_front();
    job_count_.store(jobs_.size(), std::memory_order_release);
    return job;
  }

  void look_out() const {
    const auto end = std::chrono::steady_clock::now() + look_out_time;
    while (job_count_.load(std::memory_order_acquire) == 0 &&
           std::chrono::steady_clock::now() < end)
      std::this_thread::yield();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<caf::resumable*> jobs_;
  std::atomic<size_t> job_count_{0}; ///< what a look from outside sees
  size_t looking_ = 0;
  size_t sleeping_ = 0;
  std::atomic<size_t> idle_count_{0};
};

/// What CAF's coordinator and workers ask of a policy.
class watchful_sharing : public caf::policy::unprofiled {
public:
  struct coordinator_data {
    explicit coordinator_data(caf::scheduler::abstract_coordinator*) {}
    job_queue jobs;
  };
  struct worker_data {
    explicit worker_data(caf::scheduler::abstract_coordinator*) {}
  };

  template <class Coordinator>
  void central_enqueue(Coordinator* self, caf::resumable* job) {
    d(self).jobs.push(job);
  }
  template <class Worker>
  void external_enqueue(Worker* self, caf::resumable* job) {
    d(self->parent()).jobs.push(job);
  }
  template <class Worker>
  void internal_enqueue(Worker* self, caf::resumable* job) {
    d(self->parent()).jobs.push(job);
  }
  template <class Worker>
  void resume_job_later(Worker* self, caf::resumable* job) {
    d(self->parent()).jobs.push(job);
  }
  template <class Worker>
  caf::resumable* dequeue(Worker* self) {
    return d(self->parent()).jobs.pop();
  }
  template <class Worker, class Function>
  void foreach_resumable(Worker*, Function) {}
  template <class Coordinator, class Function>
  void foreach_central_resumable(Coordinator* self, Function use) {
    while (auto* const job = d(self).jobs.try_pop())
      use(job);
  }
};

} // namespace

std::function<bool()> idleness_of(caf::actor_system& system) {
  auto* own = dynamic_cast<caf::scheduler::coordinator<watchful_sharing>*>(&system.scheduler());
  if (!own)
    return {};
  return [own] { return own->data().jobs.idle_count() == own->num_workers(); };
}

void share_work(caf::actor_system_config& config) {
  config.load<caf::scheduler::coordinator<watchful_sharing>>();
}

} // namespace troupe
