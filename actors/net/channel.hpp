// A channel: an open socket of ours before the actor system has it. Never blocks.
//
// This is the place of TLS: a secured channel holds its session beside the socket, `finish` goes on
// with the handshake, reading and writing go through it, and `make_scribe` (handover.hpp) hands
// both over. A plain one is finished as soon as it is connected.

#pragma once

#include "troupe/actors/net/endpoint.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace troupe {

/// A file descriptor of its own; closed with it.
class owned_socket {
public:
  explicit owned_socket(int descriptor = -1) : descriptor_(descriptor) {}
  owned_socket(owned_socket&& other) noexcept;
  owned_socket& operator=(owned_socket&& other) noexcept;
  ~owned_socket();

  int get() const { return descriptor_; }
  /// The caller closes it from now on.
  int release();
  explicit operator bool() const { return descriptor_ >= 0; }

private:
  int descriptor_;
};

/// What came of reading or writing.
struct transfer {
  size_t byte_count = 0; ///< 0: nothing now, try when the socket is ready
  bool is_over = false;  ///< the peer has closed, or the connection is lost
  std::string problem;   ///< why, when it is lost
};

class channel {
public:
  explicit channel(owned_socket socket) : socket_(std::move(socket)) {}

  int descriptor() const { return socket_.get(); }
  transfer read(std::string& onto);
  transfer write(std::string_view bytes);
  /// No more is written; the peer may still read what was.
  void say_no_more();
  /// Nothing when connecting has come to a good end, else why it failed.
  std::optional<std::string> connect_problem() const;
  owned_socket release() { return std::move(socket_); }

private:
  owned_socket socket_;
};

/// Begins to connect; the socket becomes writable when it has come to an end. `problem` says why
/// there is no socket.
owned_socket begin_connect(const socket_address& where, std::string& problem);

/// A socket that listens. Throws failure: cannot_create when the port is in use, no_permission,
/// missing_input when the address is not one of this machine.
owned_socket listen_on(const socket_address& where);

/// The same with a socket that somebody has bound before this process began. Throws
/// failure(io_error) when it is none.
owned_socket listen_on_inherited(int descriptor);

/// The next connection that waits, or none.
owned_socket accept_from(const owned_socket& listener);

/// The address a socket is bound to; an empty one when it is none.
socket_address bound_address_of(const owned_socket& socket);
uint16_t port_of(const owned_socket& socket);

} // namespace troupe
