#include "actors/net/gate/gate_loop.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <system_error>

namespace troupe {

namespace {

/// The longest wait of an idle loop.
constexpr milliseconds idle_time{60'000};

/// Ends a poll on the eventfd, now or the next one.
void wake(const owned_socket& waker) {
  const uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(waker.get(), &one, sizeof one);
}

moment clock_now() {
  return std::chrono::steady_clock::now();
}

} // namespace

gate_loop::gate_loop(gate_options options, owned_socket listener)
  : options_(std::move(options)), listener_(std::move(listener)), dials_(options_) {
  waker_ = std::make_shared<owned_socket>(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  if (!*waker_)
    throw std::system_error{errno, std::generic_category(), "eventfd"};
  if (options_.tls)
    identity_.emplace(*options_.tls, options_.plan.proof_name(options_.facts.node));
}

void gate_loop::start(std::function<void(gate_news)> tell) {
  tell_ = std::move(tell);
  thread_ = std::thread{[this] { run(); }};
}

gate_loop::~gate_loop() {
  {
    const std::lock_guard guard{mutex_};
    is_stopping_ = true;
  }
  post([](gate_loop&) {});
  if (thread_.joinable())
    thread_.join();
}

void gate_loop::post(std::function<void(gate_loop&)> command) {
  {
    const std::lock_guard guard{mutex_};
    commands_.push_back(std::move(command));
  }
  wake(*waker_);
}

void gate_loop::run() {
  ::prctl(PR_SET_NAME, "troupe-gate"); // so that people see what strangers cost
  for (;;) {
    const bool is_stopping = carry_out_commands();
    const auto now = clock_now();
    drop_overdue(now);
    if (is_stopping) {
      // Closed now, a connection with unread bytes takes a refusal back that the peer has not read yet.
      std::erase_if(connections_, [](const auto& x) { return x.second.at != stage::lingering; });
      if (connections_.empty())
        return;
      accepts_from_ = moment::max();
    } else {
      begin_due_dials(now);
    }
    wait(now);
  }
}

bool gate_loop::carry_out_commands() {
  uint64_t calls = 0;
  [[maybe_unused]] const auto count = ::read(waker_->get(), &calls, sizeof calls);
  std::vector<std::function<void(gate_loop&)>> commands;
  {
    const std::lock_guard guard{mutex_};
    commands.swap(commands_);
  }
  for (const auto& command : commands)
    command(*this);
  const std::lock_guard guard{mutex_};
  return is_stopping_;
}

void gate_loop::wait(moment now) {
  std::vector<pollfd> sockets{{waker_->get(), POLLIN, 0},
                              {accepts_from_ > now ? -1 : listener_.get(), POLLIN, 0}};
  std::vector<uint64_t> tickets;
  auto deadline = now + idle_time;
  for (auto& [ticket, x] : connections_) {
    sockets.push_back({x.line.descriptor(), x.events(), 0});
    tickets.push_back(ticket);
    deadline = std::min(deadline, x.deadline);
  }
  for (const auto& x : dials_) {
    if (accepts_from_ == moment::max())
      break; // at the end nobody is dialled
    deadline = std::min(deadline, x.clock.due().value_or(deadline));
    if (x.question)
      deadline = std::min(deadline, x.answer_due);
  }
  if (accepts_from_ > now)
    deadline = std::min(deadline, accepts_from_);
  // Rounded up: woken a moment too early the loop would spin until the deadline.
  const auto left = std::chrono::ceil<milliseconds>(deadline - now);
  if (::poll(sockets.data(), sockets.size(),
             static_cast<int>(std::max(left, milliseconds{0}).count())) <= 0)
    return;
  const auto later = clock_now();
  for (size_t i = 0; i < tickets.size(); ++i)
    if (const auto events = sockets[i + 2].revents; events != 0)
      on_ready(tickets[i], (events & ~POLLOUT) != 0, later);
  if (sockets[1].revents != 0)
    accept_all(later);
}

// ---- dialling ----

void gate_loop::begin_due_dials(moment now) {
  for (size_t i = 0; i < dials_.size(); ++i) {
    auto& x = dials_[i];
    if (x.clock.due() && *x.clock.due() <= now) {
      x.clock.on_begun();
      x.is_under_way = true;
      x.answer_due = now + options_.hello_deadline;
      x.question.emplace(x.target.where, [waker = waker_] { wake(*waker); });
    }
    if (!x.question)
      continue;
    if (const auto found = x.question->result()) {
      x.question.reset();
      x.addresses = found->addresses;
      x.problem = found->problem;
      try_next_address(i, now);
    } else if (x.answer_due <= now) {
      x.question.reset();
      fail_dial(i, "host " + x.target.where.host + ": no answer for its addresses", now);
    }
  }
}

void gate_loop::try_next_address(size_t index, moment now) {
  auto& x = dials_[index];
  while (!x.addresses.empty()) {
    const auto where = x.addresses.front();
    x.addresses.erase(x.addresses.begin());
    if (auto socket = begin_connect(where, x.problem)) {
      return add(
        {channel{std::move(socket)}, now + options_.hello_deadline, index, stage::connecting, {}});
    }
  }
  fail_dial(index, x.problem, now);
}

void gate_loop::fail_dial(size_t index, const std::string& why, moment now) {
  auto& x = dials_[index];
  x.problem = why;
  if (!x.addresses.empty())
    return try_next_address(index, now);
  x.is_under_way = false;
  if (x.carrier != 0 || x.is_gone)
    return;
  x.clock.on_failed(now);
  tell_(failing_news{x.target.name, *x.clock.failing_since(), why});
}

void gate_loop::on_term(uint64_t term) {
  options_.facts.term = std::max(options_.facts.term, term);
}

// Peers that wait for their names, or are in the middle of a hello, are refused, too.
void gate_loop::on_over(const verdict& over) {
  options_.over = over;
  std::vector<uint64_t> asking;
  for (auto& [ticket, x] : connections_) {
    if (x.hello)
      x.hello->refuse_all(over);
    if (x.hello && x.hello->state() == greeting::phase::asking)
      asking.push_back(ticket);
  }
  for (auto ticket : asking)
    on_answer(ticket, over);
}

} // namespace troupe
