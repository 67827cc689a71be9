// An endpoint: the host and port where a process listens or is dialled. Parses the text
// ("host:port", "[v6]:port") and resolves it to addresses of the operating system.
//
// A lookup may block for as long as the name server takes. So it runs on a thread of its own; the
// caller waits for it up to a deadline, then leaves it behind.

#pragma once

#include "coordinators/base/moment.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

struct endpoint {
  std::string host; ///< a name or a numeric address, without brackets
  uint16_t port = 0;

  friend bool operator==(const endpoint&, const endpoint&) = default;
};

/// "localhost:4000" or "[::1]:4000". Throws failure(bad_job) that shows the text and its error.
endpoint parse_endpoint(std::string_view text);

/// The text that parses to it.
std::string to_string(const endpoint& x);

/// A numeric address and port as the operating system has it.
class socket_address {
public:
  static constexpr size_t bytes_max = 128; ///< a sockaddr_storage

  socket_address() = default;
  /// Copies `size` bytes of a sockaddr.
  socket_address(const void* address, size_t size);

  const void* data() const { return bytes_.data(); }
  size_t size() const { return size_; }
  int family() const;
  uint16_t port() const;
  /// Reachable from this machine only: 127.0.0.0/8, ::1, also as an IPv4 address within IPv6.
  bool is_loopback() const;
  bool is_any() const;      ///< 0.0.0.0 or ::, all addresses of this machine
  std::string host() const; ///< in numbers, or "an unknown address"; for people
  std::string text() const; ///< "127.0.0.1:4000", "[::1]:4000"

private:
  alignas(8) std::array<std::byte, bytes_max> bytes_{};
  size_t size_ = 0;
};

struct lookup_result {
  std::vector<socket_address> addresses; ///< in the order to try them
  std::string problem;                   ///< why there is none, in words
};

/// A lookup under way of a name's addresses. Numeric addresses are answered at once.
class lookup {
public:
  /// Calls `wake` on another thread when the answer has come.
  explicit lookup(const endpoint& where, std::function<void()> wake = {});

  /// The answer, or null while it is missing.
  std::shared_ptr<const lookup_result> result() const;

  struct state;

private:
  std::shared_ptr<state> state_;
};

/// Waits for the answer; after the deadline the result has no address and the problem.
lookup_result resolve(const endpoint& where, milliseconds deadline);

// ---- Sockets ----

/// 64 unpredictable bits: for a life, a link, a name.
uint64_t random_number();

/// True for an error of reading or writing after which the caller tries again when the socket is
/// ready.
bool is_for_later(int error);

/// The outcome of reading or writing a socket, secured or not.
struct transfer {
  size_t byte_count = 0;   ///< 0: nothing now, try when the socket is ready
  bool is_over = false;    ///< the peer has closed, or the connection is lost
  std::string problem;     ///< why, when it is lost
  bool is_refusal = false; ///< the peer does not accept our certificate: for good
};

} // namespace troupe
