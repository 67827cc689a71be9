#include "troupe/actors/net/gate_loop.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <random>
#include <system_error>
#include <utility>

namespace troupe {

namespace {

/// How long a peer may take to read why it was refused.
constexpr milliseconds linger_time{1'000};

/// After an error of accepting, before the next attempt.
constexpr milliseconds accept_pause{100};

/// With nothing to do the loop looks after itself this often.
constexpr milliseconds idle_time{60'000};

uint64_t random_number() {
  std::random_device source;
  return (uint64_t{source()} << 32) | source();
}

std::string seconds_text(milliseconds time) {
  return time.count() % 1000 == 0 ? std::to_string(time.count() / 1000) + " s"
                                  : std::to_string(time.count()) + " ms";
}

/// Ends a poll on the eventfd, now or the next one.
void wake(const owned_socket& waker) {
  const uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(waker.get(), &one, sizeof one);
}

moment clock_now() {
  return std::chrono::steady_clock::now();
}

} // namespace

gate::loop::loop(gate_options options, owned_socket listener)
  : options_(std::move(options)), listener_(std::move(listener)) {
  waker_ = std::make_shared<owned_socket>(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  if (!*waker_)
    throw std::system_error{errno, std::generic_category(), "eventfd"};
  for (const auto& target : options_.dials)
    dials_.push_back({target, {options_.dial_delay_min, options_.dial_delay_max}, {}, {}, {}, {}});
}

void gate::loop::start(std::function<void(gate_news)> tell) {
  tell_ = std::move(tell);
  thread_ = std::thread{[this] { run(); }};
}

gate::loop::~loop() {
  {
    const std::lock_guard guard{mutex_};
    is_stopping_ = true;
  }
  post([](loop&) {});
  if (thread_.joinable())
    thread_.join();
}

void gate::loop::post(std::function<void(loop&)> command) {
  {
    const std::lock_guard guard{mutex_};
    commands_.push_back(std::move(command));
  }
  wake(*waker_);
}

void gate::loop::run() {
  for (;;) {
    carry_out_commands();
    {
      const std::lock_guard guard{mutex_};
      if (is_stopping_)
        return;
    }
    const auto now = clock_now();
    drop_overdue(now);
    begin_due_dials(now);
    wait(now);
  }
}

void gate::loop::carry_out_commands() {
  uint64_t calls = 0;
  [[maybe_unused]] const auto count = ::read(waker_->get(), &calls, sizeof calls);
  std::vector<std::function<void(loop&)>> commands;
  {
    const std::lock_guard guard{mutex_};
    commands.swap(commands_);
  }
  for (const auto& command : commands)
    command(*this);
}

moment gate::loop::next_deadline(moment now) const {
  auto result = now + idle_time;
  for (const auto& [ticket, x] : connections_)
    result = std::min(result, x.deadline);
  for (const auto& x : dials_) {
    result = std::min(result, x.clock.due().value_or(result));
    if (x.question)
      result = std::min(result, x.answer_due);
  }
  if (accepts_from_ > now)
    result = std::min(result, accepts_from_);
  return result;
}

void gate::loop::wait(moment now) {
  std::vector<pollfd> sockets{{waker_->get(), POLLIN, 0},
                              {accepts_from_ > now ? -1 : listener_.get(), POLLIN, 0}};
  std::vector<uint64_t> tickets;
  for (auto& [ticket, x] : connections_) {
    const bool writes = !x.hello || !x.hello->output().empty();
    const bool reads = x.hello.has_value();
    sockets.push_back(
      {x.line.descriptor(), static_cast<short>((reads ? POLLIN : 0) | (writes ? POLLOUT : 0)), 0});
    tickets.push_back(ticket);
  }
  // Rounded up: woken a moment too early it would turn in circles until the deadline.
  const auto left = std::chrono::ceil<milliseconds>(next_deadline(now) - now);
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

void gate::loop::begin_due_dials(moment now) {
  for (size_t i = 0; i < dials_.size(); ++i) {
    auto& x = dials_[i];
    if (x.clock.due() && *x.clock.due() <= now)
      begin_attempt(i, now);
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

void gate::loop::begin_attempt(size_t index, moment now) {
  auto& x = dials_[index];
  x.clock.on_begun();
  x.answer_due = now + options_.hello_deadline;
  x.question.emplace(x.target.where, [waker = waker_] { wake(*waker); });
}

void gate::loop::try_next_address(size_t index, moment now) {
  auto& x = dials_[index];
  while (!x.addresses.empty()) {
    const auto where = x.addresses.front();
    x.addresses.erase(x.addresses.begin());
    if (auto socket = begin_connect(where, x.problem)) {
      connection attempt{channel{std::move(socket)}, {}, now + options_.hello_deadline, index};
      add(next_ticket_++, std::move(attempt));
      return;
    }
  }
  fail_dial(index, x.problem, now);
}

void gate::loop::fail_dial(size_t index, const std::string& why, moment now) {
  auto& x = dials_[index];
  x.problem = why;
  if (!x.addresses.empty())
    return try_next_address(index, now);
  x.clock.on_failed(now);
  tell_(failing_news{x.target.name, *x.clock.failing_since(), why});
}

void gate::loop::on_dial_again(const std::string& name) {
  for (auto& x : dials_)
    if (x.target.name == name)
      x.clock.on_lost(clock_now());
}

void gate::loop::on_term(uint64_t term) {
  options_.facts.term = std::max(options_.facts.term, term);
}

// Whoever waits for its name to be free, or is in the middle of its hello, hears it too.
void gate::loop::on_over(const verdict& over) {
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

// ---- connections ----

process_facts gate::loop::facts_of_connection() const {
  auto result = options_.facts;
  result.incarnation = random_number();
  return result;
}

void gate::loop::greet(connection& x) const {
  if (x.dialled)
    x.hello.emplace(facts_of_connection(), options_.plan, dials_[*x.dialled].target.name);
  else
    x.hello.emplace(facts_of_connection(), options_.plan);
  if (options_.over)
    x.hello->refuse_all(*options_.over);
}

void gate::loop::accept_all(moment now) {
  errno = 0;
  while (auto socket = accept_from(listener_)) {
    connection x{channel{std::move(socket)}, {}, now + options_.hello_deadline, {}};
    greet(x);
    add(next_ticket_++, std::move(x));
  }
  // Out of file descriptors, say: the connection keeps waiting, and so does the loop.
  if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR && errno != ECONNABORTED)
    accepts_from_ = now + accept_pause;
}

// When all slots are taken the oldest connection of a stranger goes: a flood of silent ones cannot
// keep the others out.
void gate::loop::add(uint64_t ticket, connection&& x) {
  const auto is_stranger = [](const auto& entry) {
    return !entry.second.dialled && !entry.second.was_announced;
  };
  if (connections_.size() >= half_open_max)
    if (const auto oldest = std::ranges::find_if(connections_, is_stranger);
        oldest != connections_.end())
      connections_.erase(oldest);
  connections_.emplace(ticket, std::move(x));
}

void gate::loop::on_ready(uint64_t ticket, bool readable, moment now) {
  const auto found = connections_.find(ticket);
  if (found == connections_.end())
    return;
  if (!found->second.hello && !finish_connecting(ticket, now))
    return;
  if (readable)
    read_from(ticket, now);
  go_on(ticket, now);
}

bool gate::loop::finish_connecting(uint64_t ticket, moment now) {
  auto& x = connections_.at(ticket);
  if (const auto problem = x.line.connect_problem()) {
    drop(ticket, *problem, now);
    return false;
  }
  greet(x);
  return true;
}

void gate::loop::read_from(uint64_t ticket, moment now) {
  auto& x = connections_.at(ticket);
  std::string bytes;
  const auto what = x.line.read(bytes);
  x.hello->on_bytes(bytes);
  if (x.hello->state() == greeting::phase::broken)
    return drop(ticket, x.hello->problem(), now);
  if (what.is_over && !x.is_lingering && x.hello->state() != greeting::phase::over)
    return drop(ticket, what.problem.empty() ? "it closed the connection" : what.problem, now);
  if (what.is_over && x.is_lingering)
    connections_.erase(ticket);
}

/// Sends what there is to be said, and looks whether that was all.
void gate::loop::go_on(uint64_t ticket, moment now) {
  const auto found = connections_.find(ticket);
  if (found == connections_.end() || found->second.is_lingering)
    return;
  auto& x = found->second;
  auto& hello = *x.hello;
  if (hello.state() == greeting::phase::asking && !x.was_announced) {
    x.was_announced = true;
    tell_(candidate_news{ticket, *hello.peer()});
  }
  if (hello.state() == greeting::phase::visited && !x.is_visitor) {
    x.is_visitor = true;
    tell_(visitor_news{ticket});
  }
  if (!hello.output().empty()) {
    const auto sent = x.line.write(hello.output());
    hello.output().erase(0, sent.byte_count);
    if (sent.is_over && hello.state() != greeting::phase::over)
      return drop(ticket, sent.problem, now);
    if (!hello.output().empty() && !sent.is_over)
      return;
  }
  if (hello.state() == greeting::phase::over)
    conclude(ticket, now);
}

void gate::loop::conclude(uint64_t ticket, moment now) {
  auto& x = connections_.at(ticket);
  const auto outcome = x.hello->outcome();
  const auto peer = x.hello->peer().value_or(process_facts{});
  if (outcome.is_admitted()) {
    if (x.dialled)
      dials_[*x.dialled].clock.on_opened();
    opened_news news{ticket, peer, x.hello->mine().incarnation, x.dialled.has_value(),
                     std::make_shared<channel>(std::move(x.line))};
    connections_.erase(ticket);
    return tell_(std::move(news));
  }
  if (x.was_announced)
    tell_(withdrawn_news{ticket});
  if (outcome.kind == verdict_kind::refused) {
    const auto name = x.dialled ? dials_[*x.dialled].target.name : peer.node;
    if (x.dialled) { // whoever tries all the same is to do so ever more slowly
      dials_[*x.dialled].clock.on_failed(now);
      dials_[*x.dialled].clock.give_up();
    }
    tell_(refused_news{{name, outcome, x.dialled.has_value()}});
  } else if (x.dialled) {
    auto& dialled = dials_[*x.dialled];
    dialled.addresses.clear();
    fail_dial(*x.dialled, outcome.reason, now);
  }
  // What was said last may still be on its way: closing at once could destroy it.
  x.line.say_no_more();
  x.is_lingering = true;
  x.dialled.reset();
  x.was_announced = false;
  x.deadline = now + linger_time;
}

void gate::loop::drop(uint64_t ticket, const std::string& why, moment now) {
  const auto found = connections_.find(ticket);
  const auto dialled = found->second.dialled;
  const bool was_announced = found->second.was_announced;
  connections_.erase(found);
  if (was_announced)
    tell_(withdrawn_news{ticket});
  if (dialled)
    fail_dial(*dialled, why, now);
}

void gate::loop::drop_overdue(moment now) {
  std::vector<uint64_t> overdue;
  for (const auto& [ticket, x] : connections_)
    if (x.deadline <= now)
      overdue.push_back(ticket);
  for (auto ticket : overdue)
    if (connections_.at(ticket).is_lingering)
      connections_.erase(ticket);
    else
      drop(ticket, "it has been silent for " + seconds_text(options_.hello_deadline), now);
}

void gate::loop::on_answer(uint64_t ticket, const verdict& what) {
  const auto found = connections_.find(ticket);
  if (found == connections_.end() || !found->second.hello)
    return;
  found->second.hello->on_answer(what);
  go_on(ticket, clock_now());
}

void gate::loop::on_visit_answer(uint64_t ticket, const std::string& line) {
  const auto found = connections_.find(ticket);
  if (found == connections_.end() || !found->second.hello)
    return;
  found->second.hello->on_visit_answer(line);
  go_on(ticket, clock_now());
}

} // namespace troupe
