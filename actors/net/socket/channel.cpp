#include "actors/net/socket/channel.hpp"

#include "data/text/failure.hpp"

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>

namespace troupe {

namespace {

/// Connections that may wait to be accepted: those of a whole cluster at once, and of a few hundred
/// strangers before it. The kernel refuses more, and they come again in a second.
constexpr int backlog = 1024;

std::string words_of(int error) {
  return std::generic_category().message(error);
}

transfer failed(int error) {
  return is_for_later(error) ? transfer{} : transfer{0, true, words_of(error), false};
}

[[noreturn]] void throw_listen_failure(const socket_address& where, int error) {
  const auto what = "cannot listen on " + where.text() + ": ";
  switch (error) {
  case EADDRINUSE:
    throw failure(failure_code::cannot_create, what + "the port is in use", {},
                  "end the process that has it, or choose another port");
  case EACCES:
  case EPERM:
    throw failure(failure_code::no_permission, what + "that is not permitted", {},
                  "choose a port from 1024 on");
  case EADDRNOTAVAIL:
    throw failure(failure_code::missing_input, what + "this machine has no such address", {},
                  "listen on an address of this machine, or 0.0.0.0 for all");
  default:
    throw failure(failure_code::io_error, what + words_of(error));
  }
}

const sockaddr* address_of(const socket_address& x) {
  return static_cast<const sockaddr*>(x.data());
}

owned_socket make_socket(const socket_address& where) {
  return owned_socket{::socket(where.family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)};
}

} // namespace

owned_socket::owned_socket(owned_socket&& other) noexcept : descriptor_(other.release()) {}

owned_socket& owned_socket::operator=(owned_socket&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

owned_socket::~owned_socket() {
  if (descriptor_ >= 0)
    ::close(descriptor_);
}

int owned_socket::release() {
  return std::exchange(descriptor_, -1);
}

transfer channel::read(std::string& onto) {
  std::array<char, 8192> bytes;
  if (session_) {
    const auto result = session_->read(bytes);
    onto.append(bytes.data(), result.byte_count);
    return result;
  }
  const auto count = ::recv(descriptor(), bytes.data(), bytes.size(), 0);
  if (count < 0)
    return failed(errno);
  onto.append(bytes.data(), static_cast<size_t>(count));
  return {static_cast<size_t>(count), count == 0, {}, false};
}

transfer channel::read_line(std::string& onto) {
  std::array<char, 8192> bytes;
  if (session_) {
    const auto result = session_->read_record(bytes);
    onto.append(bytes.data(), result.byte_count);
    return result;
  }
  auto count = ::recv(descriptor(), bytes.data(), bytes.size(), MSG_PEEK);
  if (count > 0) {
    const std::string_view seen{bytes.data(), static_cast<size_t>(count)};
    const auto line_end = seen.find('\n');
    count = ::recv(descriptor(), bytes.data(),
                   line_end == std::string_view::npos ? seen.size() : line_end + 1, 0);
  }
  if (count < 0)
    return failed(errno);
  onto.append(bytes.data(), static_cast<size_t>(count));
  return {static_cast<size_t>(count), count == 0, {}, false};
}

transfer channel::write(std::string_view bytes) {
  if (session_)
    return session_->write(bytes);
  const auto count = ::send(descriptor(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
  return count < 0 ? failed(errno) : transfer{static_cast<size_t>(count), false, {}, false};
}

void channel::say_no_more() {
  if (session_)
    session_->say_no_more();
  ::shutdown(descriptor(), SHUT_WR);
}

std::optional<unsigned char> channel::first_byte() const {
  unsigned char byte = 0;
  return ::recv(descriptor(), &byte, 1, MSG_PEEK) == 1 ? std::optional{byte} : std::nullopt;
}

void channel::secure(const tls_context& context, tls_side side) {
  session_ = std::make_unique<tls_session>(context, descriptor(), side);
}

std::optional<std::string> channel::connect_problem() const {
  int error = 0;
  socklen_t size = sizeof error;
  if (::getsockopt(descriptor(), SOL_SOCKET, SO_ERROR, &error, &size) != 0)
    error = errno;
  return error == 0 ? std::nullopt : std::optional{words_of(error)};
}

owned_socket begin_connect(const socket_address& where, std::string& problem) {
  auto result = make_socket(where);
  if (result &&
      (::connect(result.get(), address_of(where), static_cast<socklen_t>(where.size())) == 0 ||
       errno == EINPROGRESS))
    return result;
  problem = words_of(errno);
  return owned_socket{};
}

owned_socket listen_on(const socket_address& where) {
  auto result = make_socket(where);
  if (!result)
    throw_listen_failure(where, errno);
  // Allows binding a port again at once while its old connections are in TIME_WAIT.
  const int yes = 1;
  ::setsockopt(result.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (::bind(result.get(), address_of(where), static_cast<socklen_t>(where.size())) != 0 ||
      ::listen(result.get(), backlog) != 0)
    throw_listen_failure(where, errno);
  return result;
}

owned_socket listen_on_inherited(int descriptor) {
  owned_socket result{descriptor};
  if (::fcntl(descriptor, F_SETFD, FD_CLOEXEC) != 0 ||
      ::fcntl(descriptor, F_SETFL, O_NONBLOCK) != 0 || ::listen(descriptor, backlog) != 0)
    throw failure(failure_code::io_error, "cannot listen on the inherited descriptor " +
                                            std::to_string(descriptor) + ": " + words_of(errno));
  return result;
}

owned_socket accept_from(const owned_socket& listener) {
  return owned_socket{::accept4(listener.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC)};
}

socket_address bound_address_of(const owned_socket& socket) {
  std::array<std::byte, socket_address::bytes_max> bytes;
  socklen_t size = bytes.size();
  if (::getsockname(socket.get(), reinterpret_cast<sockaddr*>(bytes.data()), &size) != 0)
    return {};
  return socket_address{bytes.data(), size};
}

std::string peer_host_of(const channel& x) {
  std::array<std::byte, socket_address::bytes_max> bytes;
  socklen_t size = bytes.size();
  if (::getpeername(x.descriptor(), reinterpret_cast<sockaddr*>(bytes.data()), &size) != 0)
    return socket_address{}.host();
  return socket_address{bytes.data(), size}.host();
}

uint16_t port_of(const owned_socket& socket) {
  return bound_address_of(socket).port();
}

} // namespace troupe
