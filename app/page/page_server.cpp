#include "app/page/page_server.hpp"

#include "actors/net/gate/visit.hpp"
#include "actors/net/socket/channel.hpp"
#include "app/page/page_answer.hpp"
#include "data/disk/open_file.hpp"
#include "data/identity/certificate.hpp"
#include "data/privacy/key_file.hpp"
#include "data/text/failure.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <list>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

namespace troupe {

namespace {

// ---- Where the page is served, and with what it is kept from others ----

/// The default port of a page: the first free one of this and the nine after it.
constexpr uint16_t usual_page_port = 7465;
constexpr uint16_t usual_ports = 10;

struct page_opening {
  owned_socket listener;
  std::optional<tls_identity> identity{}; ///< nothing: connections are plain
  page_rules rules{};
  std::string address{}; ///< as page_server::address
};

/// The start of a run may wait this long.
constexpr milliseconds lookup_time_max{5'000};

constexpr const char* form_hint = "an address of the page is PORT or HOST:PORT";

std::optional<uint16_t> port_in(const std::string& text) {
  uint16_t result = 0;
  const auto* end = text.data() + text.size();
  const auto [stop, problem] = std::from_chars(text.data(), end, result);
  return !text.empty() && problem == std::errc{} && stop == end ? std::optional{result}
                                                                : std::nullopt;
}

endpoint endpoint_in(const std::string& text) {
  if (const auto port = port_in(text))
    return {"127.0.0.1", *port};
  try {
    return parse_endpoint(text);
  } catch (const failure& error) {
    throw failure(failure_code::usage, error.reason(), text, form_hint);
  }
}

/// One that this machine alone can reach, if the host has one.
socket_address address_of(const endpoint& where) {
  const auto found = resolve(where, lookup_time_max);
  if (found.addresses.empty())
    throw failure(failure_code::usage, found.problem, to_string(where), form_hint);
  const auto loopback = std::ranges::find_if(found.addresses, &socket_address::is_loopback);
  return loopback != found.addresses.end() ? *loopback : found.addresses.front();
}

[[noreturn]] void refuse_open_page(const page_place& where, bool is_secured) {
  std::string missing;
  if (where.token_file.empty())
    missing = "--dashboard-token-file FILE (made when it is not there)";
  if (!is_secured)
    missing += std::string{missing.empty() ? "" : " and "} +
               "--dashboard-certificate NAME.pem --dashboard-key NAME.key ('troupe certs issue')";
  throw failure(
    failure_code::no_permission,
    "other machines can reach this address, where a page is served with TLS and to those "
    "who know its token, or not at all",
    where.address,
    "add " + missing +
      "; or leave the address out and use 'ssh -L 7465:localhost:7465 THIS_MACHINE'");
}

owned_socket usual_listener() {
  for (uint16_t i = 0;; ++i)
    try {
      return listen_on(address_of({"127.0.0.1", static_cast<uint16_t>(usual_page_port + i)}));
    } catch (const failure& error) {
      if (error.code() != failure_code::cannot_create || i + 1 == usual_ports)
        throw;
    }
}

std::string read_token(const std::string& file, bool& is_new) {
  std::error_code ignored;
  is_new = !std::filesystem::exists(file, ignored);
  return digits_of(read_or_make_key(file));
}

/// Reports what is missing before the server serves anything. Throws as the constructor of page_server.
page_opening open_page(const page_place& where) {
  const bool is_usual = where.address.empty();
  const auto asked = is_usual ? endpoint{"127.0.0.1", usual_page_port} : endpoint_in(where.address);
  const auto address = address_of(asked);
  const auto& files = where.certificate.certificate.empty() && !address.is_loopback()
                        ? where.node_certificate
                        : where.certificate;
  const bool is_secured = !files.certificate.empty();
  if (!address.is_loopback() && (where.token_file.empty() || !is_secured))
    refuse_open_page(where, is_secured);
  page_opening result{is_usual ? usual_listener() : listen_on(address)};
  result.rules.port = port_of(result.listener);
  auto shown = asked.host;
  result.rules.names = {shown};
  if (is_secured) {
    result.identity = tls_identity::for_anyone(files);
    result.rules.is_secured = true;
    for (const auto& name :
         read_certificate(read_small_file(files.certificate), files.certificate).names) {
      if (address.is_any() && shown == asked.host)
        shown = name; // a browser cannot go to "all addresses"
      result.rules.names.push_back(name);
    }
  }
  bool is_new_token = false;
  if (!where.token_file.empty())
    result.rules.token = read_token(where.token_file, is_new_token);
  result.address = (is_secured ? "https://" : "http://") +
                   to_string(endpoint{shown, result.rules.port}) + "/" +
                   (is_new_token ? "#key=" + result.rules.token : "");
  return result;
}

// ---- The loop ----

using steady = std::chrono::steady_clock;

/// How long the server accepts no visitor after a failure: without file descriptors left the
/// listener stays readable, and polling it would not wait.
constexpr milliseconds accept_pause{100};

/// A visitor: the part of its request that came, and the part of the answer that is not sent yet.
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

  // When all places are taken, the oldest connection goes.
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

  // A visitor without TLS gets a refusal in the clear, and no more.
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

  // Closing a socket with unread bytes would discard what was sent last.
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

live_page::live_page(const page_place& where, const std::string& job_name,
                     const std::vector<history_row>& rows, const std::vector<round_record>& rounds)
  : feed_(std::make_shared<page_feed>(job_name, page_source::live)), server_(where, feed_) {
  for (const auto& row : rows)
    feed_->add_row(row);
  feed_->add_rounds(rounds);
}

void live_page::show(const training_status& status) {
  feed_->set_status(status_json(status), unix_seconds());
}

void live_page::show_event(const std::string& line) {
  feed_->add_event(line, unix_seconds());
}

} // namespace troupe
