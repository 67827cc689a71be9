#include "troupe/app/page/page_server.hpp"

#include "troupe/actors/net/socket/channel.hpp"
#include "troupe/app/page/page_answer.hpp"
#include "troupe/app/page/page_opening.hpp"
#include "troupe/app/page/unix_time.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <list>
#include <thread>
#include <utility>
#include <vector>

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

namespace troupe {

namespace {

using steady = std::chrono::steady_clock;

/// How long nobody is accepted when it fails: without file descriptors left the listener stays
/// readable, and waiting for it would not wait.
constexpr milliseconds accept_pause{100};

/// A visitor: what came of its request, or what is still to be sent to it.
struct visit {
  channel connection;
  steady::time_point deadline;
  std::string request{};
  std::string answer{};
  size_t sent = 0;
  bool is_over = false;
  bool shakes_hands = false;
  bool wants_to_write = false; ///< to shake hands

  bool is_sending() const { return sent < answer.size(); }
  bool is_sent() const { return !answer.empty() && !is_sending(); }
};

} // namespace

class page_server::loop {
public:
  loop(page_opening opening, std::shared_ptr<const page_feed> feed)
    : opening_(std::move(opening)),
      wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      feed_(std::move(feed)),
      thread_([this] { run(); }) {}

  ~loop() {
    is_over_ = true;
    const uint64_t one = 1;
    [[maybe_unused]] const auto written = ::write(wake_.get(), &one, sizeof one);
    thread_.join();
  }

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
      sockets.push_back({opening_.listener.get(), POLLIN, 0});
    auto earliest = accepts ? now + std::chrono::hours{1} : accepts_from_;
    for (const auto& one : visits_) {
      const short events = one.is_sending() || one.wants_to_write ? POLLOUT : POLLIN;
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
    const auto& listener = opening_.listener;
    for (auto socket = accept_from(listener); socket; socket = accept_from(listener)) {
      if (visits_.size() == connections_max)
        visits_.pop_front();
      visits_.push_back({channel{std::move(socket)}, steady::now() + visit_time_max});
      if (!opening_.identity)
        continue;
      visits_.back().connection.secure(opening_.identity->current(), tls_side::accepts);
      visits_.back().shakes_hands = true;
    }
    if (errno != EAGAIN && errno != EWOULDBLOCK)
      accepts_from_ = steady::now() + accept_pause;
  }

  void serve(visit& one) const {
    if (one.shakes_hands)
      shake_hands(one);
    if (!one.shakes_hands && !one.is_over && one.answer.empty())
      read(one);
    if (one.is_sending())
      send(one);
    else if (one.is_sent())
      await_end(one);
  }

  // Who came without TLS is told in the clear that this is wrong, and no more.
  static void shake_hands(visit& one) {
    auto& session = *one.connection.session();
    const auto how = session.shake_hands();
    one.wants_to_write = how == tls_session::progress::wants_to_write;
    one.shakes_hands = one.wants_to_write || how == tls_session::progress::wants_to_read;
    if (how != tls_session::progress::failed)
      return;
    one.is_over = !session.has_met_no_tls();
    if (one.is_over)
      return;
    one.connection.forget_session();
    one.answer = page_refusal(400);
  }

  void read(visit& one) const {
    const auto got = one.connection.read(one.request);
    const auto found = read_page_request(one.request);
    if (found.is == page_reading::state::complete)
      one.answer = page_answer(found.request, *feed_, opening_.rules, unix_seconds());
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

  page_opening opening_;
  owned_socket wake_;
  std::shared_ptr<const page_feed> feed_;
  std::list<visit> visits_;
  steady::time_point accepts_from_{};
  std::atomic<bool> is_over_ = false;
  std::thread thread_; ///< last: it uses all others
};

page_server::page_server(const page_place& where, std::shared_ptr<const page_feed> feed) {
  auto opening = open_page(where);
  address_ = opening.address;
  loop_ = std::make_unique<loop>(std::move(opening), std::move(feed));
}

page_server::~page_server() = default;

} // namespace troupe
