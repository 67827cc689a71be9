// A channel: an open socket of ours before the actor system has it. Never blocks.
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
  /// The same up to the end of a line at most, when the peer writes a line at once: what follows it
  /// stays in the socket.
  transfer read_line(std::string& onto);
  transfer write(std::string_view bytes);
  /// No more is written; the peer may still read what was.
  void say_no_more();
  /// Nothing when connecting has come to a good end, else why it failed.
  std::optional<std::string> connect_problem() const;
  owned_socket release() { return std::move(socket_); }

  /// The first byte that the peer has said, which is still to be read; nothing when it has said
  /// none yet, or has closed (then `read` tells).
  std::optional<unsigned char> first_byte() const;

  /// From now on this is a secured channel: hands are to be shaken before it is read or written.
  void secure(const tls_context& context, tls_side side);
  /// Null when it is a plain one.
  tls_session* session() const { return session_.get(); }
  std::unique_ptr<tls_session> release_session() { return std::move(session_); }
  /// What the peer still says is of no interest: read plainly, and thrown away.
  void forget_session() { session_.reset(); }
  /// Bytes are here that the socket knows nothing of: do not wait for it.
  bool has_pending() const { return session_ && session_->has_pending(); }

private:
  owned_socket socket_;
  std::unique_ptr<tls_session> session_; ///< goes before the socket
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
/// The host at the other end, in numbers, for people.
std::string peer_host_of(const channel& x);
uint16_t port_of(const owned_socket& socket);

} // namespace troupe
