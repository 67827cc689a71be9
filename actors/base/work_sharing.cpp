#include "actors/base/work_sharing.hpp"

#include <caf/actor_system_config.hpp>
#include <caf/atom.hpp>
#include <caf/policy/unprofiled.hpp>
#include <caf/policy/work_stealing.hpp>
#include <caf/resumable.hpp>
#include <caf/scheduler/coordinator.hpp>
#include <caf/scheduler/test_coordinator.hpp>

#include <sys/prctl.h>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace troupe {

namespace {

/// The system whose worker this thread is, and when the worker took its job.
thread_local const caf::actor_system* system_of_worker = nullptr;
thread_local std::chrono::steady_clock::time_point job_begin;

/// Jobs of all workers, first in, first out.
class job_queue {
public:
  void push(caf::resumable* job) {
    bool wakes = false;
    {
      const std::lock_guard guard{mutex_};
      jobs_.push_back(job);
      job_count_.store(jobs_.size(), std::memory_order_release);
      // A thread that looks out takes a job without being woken.
      wakes = sleeping_ > 0 && jobs_.size() > looking_;
    }
    if (wakes)
      changed_.notify_one();
  }

  caf::resumable* pop() {
    take_turns([](const idle_work& x) { return x.is_due(); });
    std::unique_lock guard{mutex_};
    if (jobs_.empty()) {
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

  void begin(std::shared_ptr<idle_work> what) {
    const std::lock_guard guard{turn_};
    beside_.push_back(std::move(what));
  }
  void end(const idle_work& what) {
    const std::lock_guard guard{turn_};
    std::erase_if(beside_, [&](const auto& x) { return x.get() == &what; });
  }

  /// Null when there is none.
  caf::resumable* try_pop() {
    const std::lock_guard guard{mutex_};
    return jobs_.empty() ? nullptr : take();
  }

private:
  caf::resumable* take() {
    auto* const job = jobs_.front();
    jobs_.pop_front();
    job_count_.store(jobs_.size(), std::memory_order_release);
    return job;
  }

  /// True: something was done. Only one thread at a time takes turns.
  template <class Predicate>
  bool take_turns(const Predicate& is_wanted) {
    const std::unique_lock guard{turn_, std::try_to_lock};
    job_begin = std::chrono::steady_clock::time_point::max(); // a turn is no job
    bool any = false;
    if (guard)
      for (const auto& x : beside_)
        any = (is_wanted(*x) && x->take_turn()) || any;
    return any;
  }

  void look_out() {
    auto now = std::chrono::steady_clock::now();
    auto end = now + look_out_time;
    for (; job_count_.load(std::memory_order_acquire) == 0 && now < end;
         now = std::chrono::steady_clock::now())
      if (take_turns([](const idle_work&) { return true; }))
        end = now + look_out_time;
      else
        std::this_thread::yield();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<caf::resumable*> jobs_;
  std::atomic<size_t> job_count_{0}; ///< what a look from outside sees
  size_t looking_ = 0;
  size_t sleeping_ = 0;

  std::mutex turn_;
  std::vector<std::shared_ptr<idle_work>> beside_;
};

/// The functions that CAF's coordinator and workers need of a policy.
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
    if (std::exchange(system_of_worker, &self->system()) ==
        nullptr) // the actor system calls all threads alike
      ::prctl(PR_SET_NAME, "troupe-worker");
    auto* const job = d(self->parent()).jobs.pop();
    job_begin = std::chrono::steady_clock::now();
    return job;
  }
  template <class Worker, class Function>
  void foreach_resumable(Worker*, Function) {}
  template <class Coordinator, class Function>
  void foreach_central_resumable(Coordinator* self, Function use) {
    while (auto* const job = d(self).jobs.try_pop())
      use(job);
  }
};

/// Null for a system with another scheduler.
job_queue* jobs_of(caf::actor_system& system) {
  auto* own = dynamic_cast<caf::scheduler::coordinator<watchful_sharing>*>(&system.scheduler());
  return own ? &own->data().jobs : nullptr;
}

} // namespace

void begin_idle_work(caf::actor_system& system, std::shared_ptr<idle_work> what) {
  if (auto* jobs = jobs_of(system))
    jobs->begin(std::move(what));
}

void end_idle_work(caf::actor_system& system, const idle_work& what) {
  if (auto* jobs = jobs_of(system))
    jobs->end(what);
}

std::optional<std::chrono::steady_clock::time_point> job_begin_of(const caf::actor_system& system) {
  return system_of_worker == &system ? std::optional{job_begin} : std::nullopt;
}

// Before all others: of two schedulers the later one takes the other's place.
void share_work(caf::actor_system_config& config) {
  const auto make = [](caf::actor_system& system) -> caf::actor_system::module* {
    const auto policy = caf::get_or(system.config(), "scheduler.policy", caf::atom("sharing"));
    if (policy == caf::atom("testing"))
      return new caf::scheduler::test_coordinator(system);
    if (policy == caf::atom("stealing"))
      return new caf::scheduler::coordinator<caf::policy::work_stealing>(system);
    return new caf::scheduler::coordinator<watchful_sharing>(system);
  };
  config.module_factories.insert(config.module_factories.begin(), make);
}

} // namespace troupe
