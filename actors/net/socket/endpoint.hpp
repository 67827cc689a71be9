// An endpoint: where a process listens, or is dialled. Text ("host:port", "[v6]:port") to a host
// and a port, and from there to addresses of the operating system.
//
// Asking for a name's addresses may block for as long as a name server pleases, so it happens on a
// thread of its own that is waited for no longer than a deadline, and is left behind after it.

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

/// "localhost:4000" or "[::1]:4000". Throws failure(bad_job) that shows the text and says what is
/// wrong with it.
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
  std::vector<socket_address> addresses; ///< in the order they are to be tried
  std::string problem;                   ///< why there is none, in words
};

/// A question for a name's addresses that is under way. Numeric addresses are answered at once.
class lookup {
public:
  /// `wake` is called on another thread when the answer has come.
  explicit lookup(const endpoint& where, std::function<void()> wake = {});

  /// The answer, or null while it is missing.
  std::shared_ptr<const lookup_result> result() const;

  struct state;

private:
  std::shared_ptr<state> state_;
};

/// Waits for the answer; after the deadline the answer is that there was none.
lookup_result resolve(const endpoint& where, milliseconds deadline);

// ---- Sockets of ours ----

/// 64 bits that nobody foresees: of a life, a link, a name.
uint64_t random_number();

/// An error of reading or writing after which the socket is tried again when it is ready.
bool is_for_later(int error);

/// What came of reading or writing a socket, secured or not.
struct transfer {
  size_t byte_count = 0;   ///< 0: nothing now, try when the socket is ready
  bool is_over = false;    ///< the peer has closed, or the connection is lost
  std::string problem;     ///< why, when it is lost
  bool is_refusal = false; ///< the peer does not accept our certificate: for good
};

} // namespace troupe
