// A channel: an open socket of a process, before the actor system has it. Never blocks.
//
// A secured channel holds its TLS session beside the socket: the gate goes on with the handshake,
// reading and writing go through the session, and `make_scribe` (handover.hpp) hands both over. A
// plain one is ready as soon as it is connected.

#pragma once

#include "actors/net/socket/endpoint.hpp"
#include "actors/net/socket/tls_session.hpp"

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

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

class channel {
public:
  explicit channel(owned_socket socket) : socket_(std::move(socket)) {}

  int descriptor() const { return socket_.get(); }
  transfer read(std::string& onto);
  /// Reads at most to the end of a line, if the peer writes a line at once. Later bytes stay in the
  /// socket.
  transfer read_line(std::string& onto);
  transfer write(std::string_view bytes);
  /// Ends writing; the peer may still read what was written.
  void say_no_more();
  /// Nothing when the connection succeeded, else why it failed.
  std::optional<std::string> connect_problem() const;
  owned_socket release() { return std::move(socket_); }

  /// The peer's next byte, without reading it; nothing when none has come, or the peer has closed
  /// (then `read` shows it).
  std::optional<unsigned char> first_byte() const;

  /// Secures the channel: the handshake must be done before it is read or written.
  void secure(const tls_context& context, tls_side side);
  /// Null for a plain channel.
  tls_session* session() const { return session_.get(); }
  std::unique_ptr<tls_session> release_session() { return std::move(session_); }
  /// Drops the session: later bytes of the peer are read unencrypted, to be thrown away.
  void forget_session() { session_.reset(); }
  /// True if the session holds bytes that the socket no longer announces: do not wait for the
  /// socket.
  bool has_pending() const { return session_ && session_->has_pending(); }

private:
  owned_socket socket_;
  std::unique_ptr<tls_session> session_; ///< goes before the socket
};

/// Begins to connect; the socket becomes writable when this has succeeded or failed. `problem`: why
/// there is no socket.
owned_socket begin_connect(const socket_address& where, std::string& problem);

/// A socket that listens. Throws failure: cannot_create when the port is in use, no_permission,
/// missing_input when the address is not one of this machine.
owned_socket listen_on(const socket_address& where);

/// The same with a socket that the parent process has bound. Throws failure(io_error) when it is no
/// socket.
owned_socket listen_on_inherited(int descriptor);

/// The next waiting connection, or an empty socket.
owned_socket accept_from(const owned_socket& listener);

/// The address a socket is bound to; an empty one when it is none.
socket_address bound_address_of(const owned_socket& socket);
/// The host at the other end, in numbers, for people.
std::string peer_host_of(const channel& x);
uint16_t port_of(const owned_socket& socket);

} // namespace troupe
