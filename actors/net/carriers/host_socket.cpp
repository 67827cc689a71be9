#include "actors/net/carriers/host_socket.hpp"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <fstream>

namespace troupe {

namespace {

constexpr int backlog = 64;

struct host_address {
  sockaddr_un where{};
  socklen_t size = 0;
};

/// In the abstract namespace: the first character is 0.
host_address address_of(const std::string& name) {
  host_address result;
  result.where.sun_family = AF_UNIX;
  const auto count = std::min(name.size(), sizeof(result.where.sun_path) - 1);
  std::copy_n(name.data(), count, result.where.sun_path + 1);
  result.size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + count);
  return result;
}

/// One row of bytes, and room for one descriptor: more of them the system does not hand over.
struct message_with_descriptor {
  explicit message_with_descriptor(std::span<const std::byte> bytes)
    : part{const_cast<std::byte*>(bytes.data()), bytes.size()} {
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = room.data();
    message.msg_controllen = CMSG_LEN(sizeof(int));
  }
  message_with_descriptor(const message_with_descriptor&) = delete;
  message_with_descriptor& operator=(const message_with_descriptor&) = delete;

  iovec part;
  alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(sizeof(int))> room{};
  msghdr message{};
};

owned_socket host_socket() {
  return owned_socket{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
}

} // namespace

std::string host_words() {
  std::ifstream file{"/proc/sys/kernel/random/boot_id"};
  std::string boot;
  struct stat space {};
  if (!std::getline(file, boot) || ::stat("/proc/self/ns/net", &space) != 0)
    return {};
  return boot + " " + std::to_string(space.st_ino) + " " + std::to_string(::getuid());
}

owned_socket listen_on_host(const std::string& address) {
  auto result = host_socket();
  const auto there = address_of(address);
  if (!result ||
      ::bind(result.get(), reinterpret_cast<const sockaddr*>(&there.where), there.size) != 0 ||
      ::listen(result.get(), backlog) != 0)
    return owned_socket{};
  return result;
}

owned_socket connect_on_host(const std::string& address) {
  auto result = host_socket();
  const auto there = address_of(address);
  if (!result ||
      ::connect(result.get(), reinterpret_cast<const sockaddr*>(&there.where), there.size) != 0)
    return owned_socket{};
  return result;
}

bool is_of_this_user(const owned_socket& socket) {
  ucred who{};
  socklen_t size = sizeof(who);
  return ::getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &who, &size) == 0 &&
         who.uid == ::getuid();
}

bool has_closed(const owned_socket& socket) {
  char ignored = 0;
  return ::recv(socket.get(), &ignored, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

bool send_with_descriptor(const owned_socket& socket, std::span<const std::byte> bytes,
                          const owned_socket& descriptor) {
  message_with_descriptor sent{bytes};
  auto* head = CMSG_FIRSTHDR(&sent.message);
  head->cmsg_level = SOL_SOCKET;
  head->cmsg_type = SCM_RIGHTS;
  head->cmsg_len = CMSG_LEN(sizeof(int));
  const int number = descriptor.get();
  std::memcpy(CMSG_DATA(head), &number, sizeof(number));
  return ::sendmsg(socket.get(), &sent.message, MSG_NOSIGNAL) == static_cast<ssize_t>(bytes.size());
}

received_descriptor receive_with_descriptor(const owned_socket& socket,
                                            std::span<std::byte> bytes) {
  message_with_descriptor come{bytes};
  const auto got = ::recvmsg(socket.get(), &come.message, MSG_CMSG_CLOEXEC);
  received_descriptor result;
  result.is_over = got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR) ||
                   (got > 0 && static_cast<size_t>(got) != bytes.size());
  const auto* head = got > 0 ? CMSG_FIRSTHDR(&come.message) : nullptr;
  if (head && head->cmsg_level == SOL_SOCKET && head->cmsg_type == SCM_RIGHTS &&
      head->cmsg_len == CMSG_LEN(sizeof(int))) {
    int number = -1;
    std::memcpy(&number, CMSG_DATA(head), sizeof(number));
    result.descriptor = owned_socket{number};
  }
  result.is_over = result.is_over || (got > 0 && !result.descriptor);
  return result;
}

} // namespace troupe
