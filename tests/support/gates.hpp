// Gates for tests: facts that fit together, a listener that keeps what a gate tells, and a client
// that says what it likes.

#pragma once

#include "actors/net/gate/gate.hpp"
#include "actors/net/gate/hello.hpp"
#include "tests/support/process_facts.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace troupe::test {

/// "a" leads, "b" and "c" follow.
inline troupe::cluster_plan three_nodes() {
  troupe::cluster_plan plan;
  plan.nodes = {{"a", "127.0.0.1:0", "", true, 1, 1},
                {"b", "127.0.0.1:0", "", false, 1, 0},
                {"c", "127.0.0.1:0", "", false, 1, 0}};
  return plan;
}

inline gate_options options_of(const std::string& name) {
  gate_options options;
  options.facts = facts_of(name);
  options.plan = three_nodes();
  options.listen = {"127.0.0.1", 0};
  options.dial_delay_min = milliseconds{10};
  options.dial_delay_max = milliseconds{50};
  return options;
}

/// A port that nobody has: one that somebody had a moment ago.
inline uint16_t free_port() {
  return gate{options_of("a")}.port();
}

/// Keeps what a gate tells until a test asks for it.
class gate_log {
public:
  void add(gate_news news) {
    const std::lock_guard guard{mutex_};
    news_.push_back(std::move(news));
    changed_.notify_all();
  }

  /// The first one of this kind that was not asked for yet; nothing when none comes in time.
  template <class T>
  std::optional<T> next(milliseconds patience = milliseconds{10'000}) {
    std::unique_lock lock{mutex_};
    std::optional<T> result;
    changed_.wait_for(lock, patience, [&] {
      for (auto i = news_.begin(); i != news_.end() && !result; ++i)
        if (auto* found = std::get_if<T>(&*i)) {
          result = std::move(*found);
          news_.erase(i);
          break;
        }
      return result.has_value();
    });
    return result;
  }

private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<gate_news> news_;
};

/// A gate with its log. Unless told otherwise it finds every name free.
struct logged_gate {
  explicit logged_gate(gate_options options, bool lets_in = true) : door(std::move(options)) {
    door.start([this, lets_in](gate_news news) {
      if (const auto* candidate = std::get_if<candidate_news>(&news); candidate && lets_in)
        door.answer(candidate->ticket, {});
      log.add(std::move(news));
    });
  }

  gate_log log;
  gate door;
};

/// A plain TCP client of a local port. Blocks, but never for long.
class raw_client {
public:
  explicit raw_client(uint16_t port) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in where{};
    where.sin_family = AF_INET;
    where.sin_port = htons(port);
    where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    is_connected =
      ::connect(socket_.get(), reinterpret_cast<const sockaddr*>(&where), sizeof where) == 0;
  }

  void say(std::string_view text) const {
    [[maybe_unused]] const auto sent =
      ::send(socket_.get(), text.data(), text.size(), MSG_NOSIGNAL);
  }

  /// Bytes that were taken; 0 once the other side has closed.
  size_t try_to_say(std::string_view text) const {
    const auto sent = ::send(socket_.get(), text.data(), text.size(), MSG_NOSIGNAL);
    return sent < 0 ? 0 : static_cast<size_t>(sent);
  }

  /// What comes until the end of a line or of the connection; nothing when neither comes in time.
  std::optional<std::string> hear(milliseconds patience = milliseconds{10'000}) const {
    std::string text;
    for (;;) {
      pollfd ready{socket_.get(), POLLIN, 0};
      if (::poll(&ready, 1, static_cast<int>(patience.count())) <= 0)
        return std::nullopt;
      char c = 0;
      if (::recv(socket_.get(), &c, 1, 0) <= 0 || c == '\n')
        return text;
      text += c;
    }
  }

  bool is_connected = false;

private:
  owned_socket socket_;
};

} // namespace troupe::test
