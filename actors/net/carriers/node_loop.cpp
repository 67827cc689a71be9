#include "troupe/actors/net/carriers/node_loop.hpp"

#include "troupe/actors/base/work_sharing.hpp"
#include "troupe/data/text/failure.hpp"

#include <caf/actor_system.hpp>
#include <caf/scheduler/abstract_coordinator.hpp>
#include <caf/scoped_execution_unit.hpp>

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <utility>

namespace troupe {

namespace {

/// Messages an actor handles before sockets are looked at.
constexpr size_t messages_per_turn = 32;

constexpr size_t events_per_wait = 64;

} // namespace

node_loop::node_loop(caf::actor_system& system)
  : system_(system),
    queue_(system, *this),
    others_are_idle_(idleness_of(system)),
    epoll_(::epoll_create1(EPOLL_CLOEXEC)),
    waker_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!epoll_ || !waker_)
    throw failure(failure_code::io_error, "there is no descriptor left for the node's thread", {},
                  "raise the limit of open files (ulimit -n)");
  watch(waker_.get(), EPOLLIN, [this](uint32_t) {
    uint64_t count = 0;
    while (::read(waker_.get(), &count, sizeof(count)) > 0) {
    }
  });
}

node_loop::~node_loop() = default;

void node_loop::start() {
  thread_ = std::thread{[self = shared_from_this()] { self->run(); }};
}

void node_loop::stop() {
  {
    const std::lock_guard guard{mutex_};
    is_stopping_ = true;
    wake();
  }
  if (thread_.joinable())
    thread_.join();
}

void node_loop::add_actor() {
  const std::lock_guard guard{mutex_};
  ++actor_count_;
}

void node_loop::post(std::function<void()> what) {
  const std::lock_guard guard{mutex_};
  posted_.push_back(std::move(what));
  wake();
}

void node_loop::add(caf::resumable* what) {
  const std::lock_guard guard{mutex_};
  queued_.push_back(what);
  wake();
}

void node_loop::wake() {
  if (!std::exchange(is_waiting_, false))
    return;
  const uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(waker_.get(), &one, sizeof(one));
}

void node_loop::watch(int descriptor, uint32_t events, std::function<void(uint32_t)> ready) {
  watched_[descriptor] = std::make_shared<std::function<void(uint32_t)>>(std::move(ready));
  epoll_event event{};
  event.events = events;
  event.data.fd = descriptor;
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, descriptor, &event);
}

void node_loop::change(int descriptor, uint32_t events) {
  epoll_event event{};
  event.events = events;
  event.data.fd = descriptor;
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, descriptor, &event);
}

void node_loop::forget(int descriptor) {
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, descriptor, nullptr);
  watched_.erase(descriptor);
}

void node_loop::run() {
  ::prctl(PR_SET_NAME, "troupe-node");
  for (;;) {
    const bool has_more = run_queued();
    if (before_waiting_)
      before_waiting_();
    {
      const std::lock_guard guard{mutex_};
      if (is_stopping_ && actor_count_ == 0)
        break;
    }
    wait(has_more);
  }
  const std::lock_guard guard{mutex_};
  posted_.clear();
  watched_.clear();
  before_waiting_ = {};
}

// Each of those that are here now has a turn. True: somebody has more to do.
bool node_loop::run_queued() {
  std::vector<caf::resumable*> queued;
  std::vector<std::function<void()>> posted;
  {
    const std::lock_guard guard{mutex_};
    queued.swap(queued_);
    posted.swap(posted_);
  }
  for (const auto& what : posted)
    what();
  caf::scoped_execution_unit context{&system_}; // whatever is sent to is scheduled elsewhere
  bool has_more = false;
  for (auto* one : queued) {
    const auto result = one->resume(&context, messages_per_turn);
    if (result == caf::resumable::resume_later) {
      has_more = true;
      const std::lock_guard guard{mutex_};
      queued_.push_back(one);
      continue;
    }
    if (result == caf::resumable::done || result == caf::resumable::shutdown_execution_unit) {
      const std::lock_guard guard{mutex_};
      --actor_count_;
    }
    caf::intrusive_ptr_release(one);
  }
  return has_more;
}

// While the process computes nothing somebody waits for this thread, and its core is free: what comes
// then is taken without a wake, which would take as long as all that is done with it.
int node_loop::look_out(const std::function<int()>& look) {
  const auto end = std::chrono::steady_clock::now() + look_out_time;
  int count = 0;
  while (count == 0 && others_are_idle_ && others_are_idle_() &&
         std::chrono::steady_clock::now() < end) {
    std::this_thread::yield();
    count = look();
  }
  return count;
}

void node_loop::wait(bool has_work) {
  {
    const std::lock_guard guard{mutex_};
    has_work =
      has_work || !queued_.empty() || !posted_.empty() || (is_stopping_ && actor_count_ == 0);
    is_waiting_ = !has_work;
  }
  std::array<epoll_event, events_per_wait> events{};
  const auto look = [&](int patience) {
    return ::epoll_wait(epoll_.get(), events.data(), events.size(), patience);
  };
  int count = look(0);
  if (count == 0 && !has_work)
    count = look_out([&] { return look(0); });
  if (count == 0 && !has_work)
    count = look(-1);
  {
    const std::lock_guard guard{mutex_};
    is_waiting_ = false;
  }
  for (int k = 0; k < count; ++k)
    if (const auto found = watched_.find(events[static_cast<size_t>(k)].data.fd);
        found != watched_.end()) {
      const auto ready = found->second; // it may be forgotten meanwhile
      (*ready)(events[static_cast<size_t>(k)].events);
    }
}

} // namespace troupe
