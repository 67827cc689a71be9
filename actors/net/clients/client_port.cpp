#include "actors/net/clients/client_port.hpp"

#include "data/text/checksum.hpp"
#include "data/text/failure.hpp"
#include "models/base/rounding.hpp"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <fstream>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>

namespace troupe {

namespace {

constexpr uint64_t listener_id = 0;
constexpr uint64_t waker_id = 1;
constexpr milliseconds tick_interval{100};
/// How long a client may take to read why its connection ends.
constexpr milliseconds linger_time{2'000};
/// What a client that does not secure its connection is told: an alert of TLS.
constexpr std::string_view handshake_failure{"\x15\x03\x01\x00\x02\x02\x28", 7};
/// Frames of one client at a time: others are heard, too.
constexpr int frames_at_once = 64;
/// Connections that have not said who they are, beside all clients.
constexpr size_t strangers_max = 256;
/// Descriptors that are no client's: files, other ports, strangers.
constexpr size_t other_descriptors = 2 * strangers_max;

moment clock_now() {
  return std::chrono::steady_clock::now();
}

/// As many clients as the system gives this process descriptors for.
size_t raise_file_limit(size_t wanted) {
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) != 0)
    return wanted;
  files.rlim_cur = files.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &files);
  return std::min<size_t>(wanted, std::max<size_t>(files.rlim_max, other_descriptors + 1) -
                                    other_descriptors);
}

owned_socket made(int descriptor, const char* what) {
  if (descriptor < 0)
    throw std::system_error{errno, std::generic_category(), what};
  return owned_socket{descriptor};
}

void add_to(const owned_socket& poller, int descriptor, uint64_t id) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = id;
  if (::epoll_ctl(poller.get(), EPOLL_CTL_ADD, descriptor, &event) != 0)
    throw std::system_error{errno, std::generic_category(), "epoll_ctl"};
}

std::string sha256_of(const std::string& text) {
  return sha256_hex(std::as_bytes(std::span{text}));
}

/// Names, one a line; what follows # is for people.
std::set<std::string> names_in(const std::string& path) {
  std::ifstream file{path};
  if (!file)
    throw failure(failure_code::missing_input, "the list of refused clients cannot be read", path,
                  "make it, with a name a line, or leave federated.denied out");
  std::set<std::string> result;
  for (std::string line; std::getline(file, line);) {
    line.erase(std::min(line.find('#'), line.size()));
    const auto begin = line.find_first_not_of(" \t\r");
    if (begin != std::string::npos)
      result.insert(line.substr(begin, line.find_last_not_of(" \t\r") + 1 - begin));
  }
  return result;
}

client_frame frame_of(const client_action& x) {
  switch (x.what) {
  case client_act::wait:
    return {client_frame_kind::wait, {static_cast<uint64_t>(x.left.count())}, {x.text}};
  case client_act::order:
    return {client_frame_kind::order,
            {x.order.round, x.order.term, x.group, static_cast<uint64_t>(x.left.count())}};
  case client_act::send:
    return {client_frame_kind::send, {x.order.round, x.order.term}};
  case client_act::receipt:
    return {client_frame_kind::receipt,
            {x.order.round, x.order.term, static_cast<uint64_t>(x.receipt)}};
  case client_act::over:
    return {client_frame_kind::over, {static_cast<uint64_t>(x.code)}, {x.text.substr(0, 1024)}};
  case client_act::plan:
  case client_act::ping:
  case client_act::close:
    break;
  }
  return {};
}

} // namespace

client_port::client_port(client_port_options options)
  : options_(std::move(options)),
    poller_(made(::epoll_create1(EPOLL_CLOEXEC), "epoll")),
    waker_(made(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC), "eventfd")),
    plan_hash_(sha256_of(options_.reading + options_.job)),
    server_([&] {
      options_.server.clients_max = raise_file_limit(options_.server.clients_max);
      options_.server.first_term = random_number() >> 1;
      return options_.server;
    }()),
    sums_(options_.rules, options_.sums) {
  if (options_.tls)
    identity_.emplace(*options_.tls, std::string{});
  if (options_.reading.size() > plan_bytes_max || options_.job.size() > job_bytes_max)
    throw failure(failure_code::bad_data,
                  "the table has more columns or categories than clients can be told of",
                  "data.table", "leave columns out, or name fewer layers");
  read_denied(true);
  const auto found = resolve(options_.listen, milliseconds{5'000});
  if (found.addresses.empty())
    throw failure(failure_code::missing_input, found.problem, "federated.listen",
                  "listen on an address of this machine, or 0.0.0.0 for all");
  listener_ = listen_on(found.addresses.front());
  add_to(poller_, listener_.get(), listener_id);
  add_to(poller_, waker_.get(), waker_id);
  last_ticket_ = waker_id;
  thread_ = std::thread{[this] { run(); }};
}

client_port::~client_port() {
  post([this] { is_stopping_ = true; });
  thread_.join();
}

void client_port::post(std::function<void()> command) {
  {
    const std::lock_guard guard{shared_.mutex};
    shared_.commands.push_back(std::move(command));
  }
  const uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(waker_.get(), &one, sizeof one);
}

void client_port::open(uint64_t round, const_buffer start, client_coin coin,
                       std::function<void(gathered_round)> done) {
  post([=, this] {
    read_denied(false);
    sums_.begin(start);
    done_ = done;
    server_.open(round, clock_now(), coin);
  });
}

void client_port::hurry() {
  post([this] { server_.hurry(clock_now()); });
}

void client_port::end(int code, const std::string& why) {
  post([=, this] { server_.end(code, why); });
}

client_presence client_port::presence() const {
  const std::lock_guard guard{shared_.mutex};
  return shared_.presence;
}

void client_port::publish_presence() {
  auto news = server_.presence();
  if (options_.hides_work) {
    news.invited = news.answered = 0;
  } else {
    news.counted = so_far_.counted;
    news.refused = so_far_.refused;
    news.came_bytes = so_far_.came_bytes;
    news.sent_bytes = so_far_.sent_bytes;
    for (const auto& [ticket, x] : connections_) {
      news.came_bytes += x.line.bytes_read();
      news.sent_bytes += x.line.bytes_written();
    }
  }
  const std::lock_guard guard{shared_.mutex};
  shared_.presence = news;
}

// A list that cannot be read for a moment, as while it is replaced, changes nothing.
void client_port::read_denied(bool must) {
  if (options_.denied_file.empty())
    return;
  try {
    server_.set_denied(names_in(options_.denied_file));
  } catch (const failure&) {
    if (must)
      throw;
  }
}

// ---- The thread ----

void client_port::run() {
  ::prctl(PR_SET_NAME, "troupe-clients");
  const default_rounding rounding;
  std::optional<moment> stops_at;
  for (;;) {
    if (carry_out_commands() && !stops_at)
      stops_at = clock_now() + linger_time;
    const auto now = clock_now();
    if (now - ticked_ >= tick_interval) {
      ticked_ = now;
      server_.tick(now);
      publish_presence();
      listen(connections_.size() < options_.server.clients_max + strangers_max);
    }
    close_round_if_over(now);
    carry_out_actions(now);
    std::vector<uint64_t> ended;
    for (const auto& [ticket, x] : connections_)
      if (x.closes_at && *x.closes_at <= now)
        ended.push_back(ticket);
    std::ranges::for_each(ended, [this](uint64_t ticket) { drop(ticket); });
    if (stops_at && (*stops_at <= now || std::ranges::none_of(connections_, [](const auto& x) {
          return x.second.closes_at.has_value();
        })))
      return;
    wait();
  }
}

bool client_port::carry_out_commands() {
  uint64_t calls = 0;
  [[maybe_unused]] const auto count = ::read(waker_.get(), &calls, sizeof calls);
  std::vector<std::function<void()>> commands;
  {
    const std::lock_guard guard{shared_.mutex};
    commands.swap(shared_.commands);
  }
  for (const auto& command : commands)
    command();
  return is_stopping_;
}

void client_port::wait() {
  std::array<epoll_event, 256> events{};
  const int count = ::epoll_wait(poller_.get(), events.data(), static_cast<int>(events.size()),
                                 again_.empty() ? static_cast<int>(tick_interval.count()) : 0);
  const auto now = clock_now();
  for (const auto ticket : std::exchange(again_, {}))
    on_ready(ticket, now);
  for (int i = 0; i < count; ++i) {
    const auto id = events[static_cast<size_t>(i)].data.u64;
    if (id == listener_id)
      accept_all(now);
    else if (id != waker_id)
      on_ready(id, now);
  }
}

// With more strangers than the limit, or without a free descriptor, the rest waits for the next tick.
void client_port::accept_all(moment now) {
  for (;;) {
    const bool may_come =
      accepts_.due(now) <= now && connections_.size() < options_.server.clients_max + strangers_max;
    auto socket = may_come ? accept_from(listener_) : owned_socket{};
    if (!socket && may_come && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
      return;
    if (!socket)
      return listen(false);
    accepts_.take(now);
    const auto ticket = ++last_ticket_;
    add_to(poller_, socket.get(), ticket);
    auto& x = connections_.emplace(ticket, connection{frame_line{channel{std::move(socket)}, true}})
                .first->second;
    server_.on_connected(ticket, now);
    if (identity_) {
      x.line.socket().secure(identity_->current(), tls_side::accepts);
      x.is_securing = true;
    }
  }
}

void client_port::listen(bool listens) {
  epoll_event event{};
  event.events = listens ? uint32_t{EPOLLIN} : 0;
  event.data.u64 = listener_id;
  ::epoll_ctl(poller_.get(), EPOLL_CTL_MOD, listener_.get(), &event);
}

bool client_port::secure(uint64_t ticket) {
  auto& x = connections_.at(ticket);
  using progress = tls_session::progress;
  const auto how = x.line.socket().session()->shake_hands();
  x.is_securing = how != progress::done;
  if (how == progress::failed) {
    auto& socket = x.line.socket();
    const bool is_plain = socket.session()->has_met_no_tls();
    std::string ignored; // unread bytes would take back what was said of the reason
    socket.forget_session();
    socket.read(ignored);
    if (is_plain)
      socket.write(handshake_failure);
    drop(ticket);
    return false;
  }
  watch(ticket, how == progress::wants_to_write);
  return how == progress::done;
}

void client_port::on_ready(uint64_t ticket, moment now) {
  const auto found = connections_.find(ticket);
  if (found == connections_.end())
    return;
  auto& x = found->second;
  if (x.is_securing && !secure(ticket))
    return;
  const auto moved = [&] { return x.line.bytes_read() + x.line.bytes_written(); };
  const auto before = moved();
  x.line.flush();
  for (int i = 0; !x.line.is_full(); ++i) {
    if (i == frames_at_once) {
      again_.push_back(ticket);
      break;
    }
    const auto next = x.line.read();
    if (!next)
      break;
    if (x.closes_at)
      continue; // it was told that it is over
    on_frame(ticket, *next, now);
    close_round_if_over(now);
    carry_out_actions(now);
    if (!connections_.contains(ticket))
      return;
  }
  if (moved() > before)
    server_.on_heard(ticket, now);
  if (x.line.was_refused()) // a client that secures its connection sees that this one is not
    x.line.socket().write("connections are not secured here\n");
  if (x.line.is_over())
    return drop(ticket);
  watch(ticket, x.line.wants_to_write());
}

void client_port::watch(uint64_t ticket, bool writes) {
  auto& x = connections_.at(ticket);
  const bool reads = !x.line.is_full();
  if (x.waits_to_write == writes && x.reads == reads)
    return;
  x.waits_to_write = writes;
  x.reads = reads;
  epoll_event event{};
  event.events = (writes ? uint32_t{EPOLLOUT} : 0) | (reads ? uint32_t{EPOLLIN} : 0);
  event.data.u64 = ticket;
  ::epoll_ctl(poller_.get(), EPOLL_CTL_MOD, x.line.socket().descriptor(), &event);
}

void client_port::drop(uint64_t ticket) {
  server_.on_gone(ticket);
  announced_.erase(ticket);
  if (const auto found = connections_.find(ticket); found != connections_.end()) {
    so_far_.came_bytes += found->second.line.bytes_read();
    so_far_.sent_bytes += found->second.line.bytes_written();
    connections_.erase(found);
  }
}

// ---- Frames ----

void client_port::on_frame(uint64_t ticket, const client_frame& x, moment now) {
  switch (x.kind) {
  case client_frame_kind::report:
    return on_report(ticket, x, now);
  case client_frame_kind::here:
    return server_.on_here(ticket, now);
  case client_frame_kind::ready:
    announced_[ticket] = x.texts[0];
    return server_.on_ready(ticket, {x.numbers[0], x.numbers[1]}, now);
  case client_frame_kind::update:
    return take_update(ticket, x, now);
  default:
    return; // a ping; frames of a server do not come (frame_line.hpp)
  }
}

void client_port::on_report(uint64_t ticket, const client_frame& x, moment now) {
  const auto& name = x.texts[0];
  auto& one = connections_.at(ticket);
  one.has_plan = x.texts[1] == plan_hash_;
  std::vector<std::string> proven;
  if (identity_)
    proven = one.line.socket().session()->peer_names();
  server_.on_report(ticket, {x.numbers[0], name, short_checksum_of(std::as_bytes(std::span{name}))},
                    identity_ ? &proven : nullptr, now);
}

void client_port::take_update(uint64_t ticket, const client_frame& x, moment now) {
  connections_.at(ticket).line.allow_values(false);
  const auto group = server_.on_update(ticket, {x.numbers[0], x.numbers[1]}, now);
  if (!group)
    return;
  const auto receipt =
    sums_.add({server_.name_of_ticket(ticket), *group, x.numbers[2],
               std::bit_cast<double>(x.numbers[3]), x.numbers[4], announced_[ticket], x.values});
  ++(receipt == receipt_kind::counted ? so_far_.counted : so_far_.refused);
  server_.settle(ticket, receipt, now);
}

void client_port::carry_out_actions(moment now) {
  for (const auto& x : server_.take_actions())
    carry_out(x, now);
}

void client_port::carry_out(const client_action& x, moment now) {
  const auto found = connections_.find(x.ticket);
  if (found == connections_.end())
    return;
  auto& one = found->second;
  auto& line = one.line;
  if (x.what == client_act::close)
    return drop(x.ticket);
  auto told = frame_of(x);
  if (x.what == client_act::plan) {
    line.set_value_count(options_.parameter_count);
    told = {client_frame_kind::plan,
            {client_protocol_number, options_.parameter_count},
            {one.has_plan ? "" : options_.reading, one.has_plan ? "" : options_.job}};
  } else if (x.what == client_act::order) {
    told.values = sums_.start();
  } else if (x.what == client_act::send) {
    line.allow_values(true);
  }
  line.send(told);
  if (x.what == client_act::over || x.what == client_act::wait)
    one.closes_at = now + linger_time;
  if (line.is_over())
    return drop(x.ticket);
  watch(x.ticket, line.wants_to_write());
}

void client_port::close_round_if_over(moment now) {
  if (!done_ || !server_.is_over(now))
    return;
  carry_out_actions(now); // orders need the round's model
  const auto others = server_.close(now);
  std::exchange(done_, {})(sums_.take(others));
}

} // namespace troupe
