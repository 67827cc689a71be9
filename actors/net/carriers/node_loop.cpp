#include "actors/net/carriers/node_loop.hpp"

#include "data/text/failure.hpp"

#include <caf/actor_system.hpp>
#include <caf/scheduler/abstract_coordinator.hpp>
#include <caf/scoped_execution_unit.hpp>

#include <poll.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <utility>

namespace troupe {

namespace {

/// Messages an actor handles before the sockets' turn.
constexpr size_t messages_per_turn = 32;

constexpr size_t events_per_turn = 64;

/// How long a worker that took turns may be away before the loop's thread serves the sockets again. Until then data
/// wait for the worker, which usually is the one that needs them.
constexpr std::chrono::microseconds absence_max{1000};

/// A worker's message after so long in one job does not wait for the job's end, which may be far away.
constexpr std::chrono::microseconds short_job{100};

int64_t steady_now() {
  return std::chrono::steady_clock::now().time_since_epoch().count();
}

} // namespace

node_loop::node_loop(caf::actor_system& system)
  : system_(system),
    queue_(system, *this),
    epoll_(::epoll_create1(EPOLL_CLOEXEC)),
    waker_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!epoll_ || !waker_)
    throw failure(failure_code::io_error, "there is no descriptor left for the node's thread", {},
                  "raise the limit of open files (ulimit -n)");
  watch(waker_.get(), EPOLLIN, {});
}

node_loop::~node_loop() = default;

void node_loop::start() {
  thread_ = std::thread{[self = shared_from_this()] { self->run(); }};
  begin_idle_work(system_, shared_from_this());
}

void node_loop::stop() {
  {
    const std::lock_guard guard{mutex_};
    is_stopping_ = true;
    wake();
  }
  if (thread_.joinable())
    thread_.join();
  end_idle_work(system_, *this);
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

// A worker serves the queue itself after a short job, so it need not wake the thread.
void node_loop::wake() {
  if (waiting_ == patience::none)
    return;
  if (const auto begin = job_begin_of(system_);
      begin && waiting_ == patience::brief && std::chrono::steady_clock::now() - *begin < short_job)
    return;
  waiting_ = patience::none;
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
  // The thread should get a free core at once, but not interrupt a computing thread. Without permission it stays as it
  // is.
  const sched_param usual{};
  ::sched_setscheduler(0, SCHED_BATCH, &usual);
  for (bool is_over = false; !is_over;) {
    const auto first = wait();
    const std::lock_guard turn{turn_};
    serve(first); // sockets watched by edges are not reported twice
    go_on();
    const std::lock_guard guard{mutex_};
    is_over = is_over_ = is_stopping_ && actor_count_ == 0;
  }
  const std::lock_guard turn{turn_};
  watched_.clear();
  before_waiting_ = {};
  const std::lock_guard guard{mutex_};
  posted_.clear();
}

bool node_loop::take_turn() {
  last_look_.store(steady_now(), std::memory_order_relaxed);
  const std::unique_lock turn{turn_, std::try_to_lock};
  return turn && !is_over_ && go_on();
}

bool node_loop::is_due() const {
  const std::lock_guard guard{mutex_};
  return !queued_.empty() || !posted_.empty();
}

bool node_loop::go_on() {
  const bool came = serve_sockets();
  const bool ran = run_queued();
  if (before_waiting_)
    before_waiting_();
  return came || ran;
}

bool node_loop::serve_sockets() {
  std::array<epoll_event, events_per_turn> events{};
  const int count = ::epoll_wait(epoll_.get(), events.data(), events.size(), 0);
  bool any = false;
  for (int k = 0; k < count; ++k)
    any =
      serve({events[static_cast<size_t>(k)].data.fd, events[static_cast<size_t>(k)].events}) || any;
  return any;
}

// The descriptor may be forgotten by now, or be another one: neither does harm.
bool node_loop::serve(const ready_socket& what) {
  const auto found = watched_.find(what.descriptor);
  if (found == watched_.end() || !*found->second)
    return false;
  const auto ready = found->second; // the call may forget it
  (*ready)(what.events);
  return true;
}

// Each queued actor handles a few messages. True: there was something to do.
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
  caf::scoped_execution_unit context{&system_}; // receivers are scheduled elsewhere
  for (auto* one : queued) {
    const auto result = one->resume(&context, messages_per_turn);
    if (result == caf::resumable::resume_later) {
      const std::lock_guard guard{mutex_};
      queued_.push_back(one);
      wake();
      continue;
    }
    if (result == caf::resumable::done || result == caf::resumable::shutdown_execution_unit) {
      const std::lock_guard guard{mutex_};
      --actor_count_;
      wake();
    }
    caf::intrusive_ptr_release(one);
  }
  return !queued.empty() || !posted.empty();
}

// While a worker looks for work it serves the sockets. The thread sees by the clock that the worker has found some.
node_loop::ready_socket node_loop::wait() {
  ready_socket first;
  const auto since =
    std::chrono::steady_clock::duration{steady_now() - last_look_.load(std::memory_order_relaxed)};
  const bool is_brief = since < absence_max;
  {
    const std::lock_guard guard{mutex_};
    if (!queued_.empty() || !posted_.empty() || (is_stopping_ && actor_count_ == 0))
      return first;
    waiting_ = is_brief ? patience::brief : patience::full;
  }
  if (is_brief) {
    pollfd waker{waker_.get(), POLLIN, 0};
    const timespec most{0, std::chrono::nanoseconds{absence_max}.count()};
    ::ppoll(&waker, 1, &most, nullptr);
  } else {
    epoll_event event{};
    if (::epoll_wait(epoll_.get(), &event, 1, -1) == 1)
      first = {event.data.fd, event.events};
  }
  uint64_t count = 0; // no worker reads the waker: it is for this thread
  [[maybe_unused]] const auto got = ::read(waker_.get(), &count, sizeof(count));
  const std::lock_guard guard{mutex_};
  waiting_ = patience::none;
  return first;
}

} // namespace troupe
