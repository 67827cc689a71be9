#include "troupe/app/page/page_server.hpp"

#include "troupe/actors/net/socket/channel.hpp"
#include "troupe/app/page/page_answer.hpp"
#include "troupe/app/page/unix_time.hpp"
#include "troupe/data/text/failure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <list>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

namespace troupe {

namespace {

using steady = std::chrono::steady_clock;

constexpr uint16_t usual_ports = 10;

/// How long nobody is accepted when it fails: without file descriptors left the listener stays
/// readable, and waiting for it would not wait.
constexpr milliseconds accept_pause{100};

std::optional<uint16_t> port_in(const std::string& text) {
  uint16_t result = 0;
  const auto* end = text.data() + text.size();
  const auto [stop, problem] = std::from_chars(text.data(), end, result);
  return !text.empty() && problem == std::errc{} && stop == end ? std::optional{result}
                                                                : std::nullopt;
}

socket_address loopback_address(const endpoint& where) {
  const auto found = resolve(where, page_server::visit_time_max);
  for (const auto& address : found.addresses)
    if (address.is_loopback())
      return address;
  throw failure(
    failure_code::usage,
    "the page is served on a loopback address only: whoever can reach it can read it",
    to_string(where),
    "leave the address out, and reach it from elsewhere through 'ssh -L 7465:localhost:7465 "
    "THIS_MACHINE'");
}

endpoint endpoint_in(const std::string& text) {
  try {
    return parse_endpoint(text);
  } catch (const failure& error) {
    throw failure(failure_code::usage, error.reason(), text,
                  "an address of the page is PORT or HOST:PORT");
  }
}

owned_socket listener_at(const std::string& where) {
  if (const auto port = port_in(where))
    return listen_on(loopback_address({"127.0.0.1", *port}));
  if (!where.empty())
    return listen_on(loopback_address(endpoint_in(where)));
  for (uint16_t i = 0;; ++i)
    try {
      return listen_on(
        loopback_address({"127.0.0.1", static_cast<uint16_t>(page_server::usual_port + i)}));
    } catch (const failure& error) {
      if (error.code() != failure_code::cannot_create || i + 1 == usual_ports)
        throw;
    }
}

/// A visitor: what came of its request, or what is still to be sent to it.
struct visit {
  channel connection;
  steady::time_point deadline;
  std::string request{};
  std::string answer{};
  size_t sent = 0;
  bool is_over = false;

  bool is_sending() const { return sent < answer.size(); }
  bool is_sent() const { return !answer.empty() && !is_sending(); }
};

} // namespace

class page_server::loop {
public:
  loop(owned_socket listener, std::shared_ptr<const page_feed> feed)
    : listener_(std::move(listener)),
      wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      feed_(std::move(feed)),
      thread_([this] { run(); }) {}

  ~loop() {
    is_over_ = true;
    const uint64_t one = 1;
    [[maybe_unused]] const auto written = ::write(wake_.get(), &one, sizeof one);
    thread_.join();
  }

  std::string address() const { return "http://" + bound_address_of(listener_).text() + "/"; }

private:
  void run() {
    while (!is_over_) {
      wait();
      accept_visitors();
      const auto now = steady::now();
      for (auto& one : visits_) {
        serve(one);
        one.is_over = one.is_over || now >= one.deadline;
      }
      visits_.remove_if([](const visit& x) { return x.is_over; });
    }
  }

  void wait() const {
    const auto now = steady::now();
    const bool accepts = accepts_from_ <= now;
    std::vector<pollfd> sockets{{wake_.get(), POLLIN, 0}};
    if (accepts)
      sockets.push_back({listener_.get(), POLLIN, 0});
    auto earliest = accepts ? now + std::chrono::hours{1} : accepts_from_;
    for (const auto& one : visits_) {
      const short events = one.is_sending() ? POLLOUT : POLLIN;
      sockets.push_back({one.connection.descriptor(), events, 0});
      earliest = std::min(earliest, one.deadline);
    }
    const auto left = std::chrono::ceil<milliseconds>(earliest - steady::now()).count();
    ::poll(sockets.data(), sockets.size(),
           static_cast<int>(std::clamp<int64_t>(left, 0, 3'600'000)));
  }

  // When all places are taken, whoever has been here longest goes.
  void accept_visitors() {
    if (steady::now() < accepts_from_)
      return;
    for (auto socket = accept_from(listener_); socket; socket = accept_from(listener_)) {
      if (visits_.size() == connections_max)
        visits_.pop_front();
      visits_.push_back({channel{std::move(socket)}, steady::now() + visit_time_max});
    }
    if (errno != EAGAIN && errno != EWOULDBLOCK)
      accepts_from_ = steady::now() + accept_pause;
  }

  void serve(visit& one) const {
    if (one.answer.empty())
      read(one);
    if (one.is_sending())
      send(one);
    else if (one.is_sent())
      await_end(one);
  }

  void read(visit& one) const {
    const auto got = one.connection.read(one.request);
    const auto found = read_page_request(one.request);
    if (found.is == page_reading::state::complete)
      one.answer = page_answer(found.request, *feed_, port_of(listener_), unix_seconds());
    else if (found.is == page_reading::state::refused)
      one.answer = page_refusal(found.status);
    else
      one.is_over = got.is_over;
  }

  static void send(visit& one) {
    const auto given = one.connection.write(std::string_view{one.answer}.substr(one.sent));
    one.sent += given.byte_count;
    one.is_over = given.is_over;
    if (one.is_sent())
      one.connection.say_no_more();
  }

  // A socket that is closed with bytes unread takes back what was sent last.
  static void await_end(visit& one) {
    std::string unread;
    one.is_over = one.connection.read(unread).is_over;
  }

  owned_socket listener_;
  owned_socket wake_;
  std::shared_ptr<const page_feed> feed_;
  std::list<visit> visits_;
  steady::time_point accepts_from_{};
  std::atomic<bool> is_over_ = false;
  std::thread thread_; ///< last: it uses all others
};

page_server::page_server(const std::string& where, std::shared_ptr<const page_feed> feed)
  : loop_(std::make_unique<loop>(listener_at(where), std::move(feed))) {}

page_server::~page_server() = default;

std::string page_server::address() const {
  return loop_->address();
}

} // namespace troupe
