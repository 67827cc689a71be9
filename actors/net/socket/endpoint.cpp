#include "actors/net/socket/endpoint.hpp"

#include "data/text/failure.hpp"
#include "data/text/shown_text.hpp"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <random>
#include <system_error>
#include <thread>
#include <utility>

namespace troupe {

namespace {

/// Longest name in the domain name system.
constexpr size_t host_bytes_max = 253;

[[noreturn]] void refuse(std::string_view text, const std::string& why) {
  throw failure(failure_code::bad_job, shown_text(text, 80) + " is no address: " + why, {},
                "write host:port, with an IPv6 address in brackets: \"localhost:4000\", "
                "\"[::1]:4000\"");
}

uint16_t port_of(std::string_view digits, std::string_view text) {
  uint16_t port = 0;
  const auto [end, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
  if (problem != std::errc{} || end != digits.data() + digits.size() || digits.empty())
    refuse(text, "the port is not a number from 0 to 65535");
  return port;
}

bool is_host(std::string_view host) {
  return !host.empty() && host.size() <= host_bytes_max && std::ranges::all_of(host, [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           std::string_view{"-._:%"}.find(c) != std::string_view::npos;
  });
}

lookup_result ask(const endpoint& where, int flags) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const auto port = std::to_string(where.port);
  const int problem = ::getaddrinfo(where.host.c_str(), port.c_str(), &hints, &found);
  lookup_result result;
  if (problem != 0)
    result.problem = "host " + where.host + ": " + ::gai_strerror(problem);
  for (const auto* entry = found; entry != nullptr; entry = entry->ai_next)
    if (entry->ai_family == AF_INET || entry->ai_family == AF_INET6)
      result.addresses.emplace_back(entry->ai_addr, entry->ai_addrlen);
  if (found != nullptr)
    ::freeaddrinfo(found);
  if (problem == 0 && result.addresses.empty())
    result.problem = "host " + where.host + " has no internet address";
  return result;
}

} // namespace

endpoint parse_endpoint(std::string_view text) {
  const bool has_brackets = text.starts_with('[');
  const auto colon = has_brackets ? text.find("]:") : text.rfind(':');
  if (colon == std::string_view::npos)
    refuse(text, "it has no port");
  const auto host = has_brackets ? text.substr(1, colon - 1) : text.substr(0, colon);
  if (!has_brackets && host.find(':') != std::string_view::npos)
    refuse(text, "an IPv6 address needs brackets");
  if (!is_host(host))
    refuse(text, host.empty() ? "it has no host" : "its host is not a name or a numeric address");
  return {std::string{host}, port_of(text.substr(colon + (has_brackets ? 2 : 1)), text)};
}

std::string to_string(const endpoint& x) {
  const bool is_v6 = x.host.find(':') != std::string::npos;
  return (is_v6 ? '[' + x.host + ']' : x.host) + ':' + std::to_string(x.port);
}

socket_address::socket_address(const void* address, size_t size)
  : size_(std::min(size, bytes_max)) {
  static_assert(bytes_max == sizeof(sockaddr_storage));
  std::memcpy(bytes_.data(), address, size_);
}

int socket_address::family() const {
  return size_ == 0 ? AF_UNSPEC : reinterpret_cast<const sockaddr*>(data())->sa_family;
}

uint16_t socket_address::port() const {
  if (family() == AF_INET)
    return ntohs(reinterpret_cast<const sockaddr_in*>(data())->sin_port);
  if (family() == AF_INET6)
    return ntohs(reinterpret_cast<const sockaddr_in6*>(data())->sin6_port);
  return 0;
}

bool socket_address::is_loopback() const {
  if (family() == AF_INET)
    return ntohl(reinterpret_cast<const sockaddr_in*>(data())->sin_addr.s_addr) >> 24 == 127;
  if (family() != AF_INET6)
    return false;
  const auto& address = reinterpret_cast<const sockaddr_in6*>(data())->sin6_addr;
  return IN6_IS_ADDR_LOOPBACK(&address) ||
         (IN6_IS_ADDR_V4MAPPED(&address) && address.s6_addr[12] == 127);
}

bool socket_address::is_any() const {
  if (family() == AF_INET)
    return reinterpret_cast<const sockaddr_in*>(data())->sin_addr.s_addr == INADDR_ANY;
  return family() == AF_INET6 &&
         IN6_IS_ADDR_UNSPECIFIED(&reinterpret_cast<const sockaddr_in6*>(data())->sin6_addr);
}

std::string socket_address::host() const {
  char host[NI_MAXHOST] = "";
  const auto* address = reinterpret_cast<const sockaddr*>(data());
  if (::getnameinfo(address, static_cast<socklen_t>(size_), host, sizeof host, nullptr, 0,
                    NI_NUMERICHOST) != 0)
    return "an unknown address";
  return host;
}

std::string socket_address::text() const {
  return to_string(endpoint{host(), port()});
}

struct lookup::state {
  std::mutex mutex;
  std::shared_ptr<const lookup_result> result;
};

lookup::lookup(const endpoint& where, std::function<void()> wake)
  : state_(std::make_shared<state>()) {
  if (auto numeric = ask(where, AI_NUMERICHOST); !numeric.addresses.empty()) {
    state_->result = std::make_shared<lookup_result>(std::move(numeric));
    return;
  }
  // A getaddrinfo cannot be cancelled: the thread owns its data and is detached.
  try {
    std::thread{[where, wake = std::move(wake), shared = state_] {
      auto answer = std::make_shared<lookup_result>(ask(where, 0));
      {
        const std::lock_guard guard{shared->mutex};
        shared->result = std::move(answer);
      }
      if (wake)
        wake();
    }}.detach();
  } catch (const std::system_error& error) {
    state_->result = std::make_shared<lookup_result>(lookup_result{
      {}, "host " + where.host + ": no thread to ask for its addresses: " + error.what()});
  }
}

std::shared_ptr<const lookup_result> lookup::result() const {
  const std::lock_guard guard{state_->mutex};
  return state_->result;
}

lookup_result resolve(const endpoint& where, milliseconds deadline) {
  auto arrived = std::make_shared<std::pair<std::mutex, std::condition_variable>>();
  const lookup question{where, [arrived] {
                          const std::lock_guard guard{arrived->first};
                          arrived->second.notify_all();
                        }};
  std::unique_lock lock{arrived->first};
  std::shared_ptr<const lookup_result> answer;
  arrived->second.wait_for(lock, deadline, [&] { return (answer = question.result()) != nullptr; });
  if (answer)
    return *answer;
  return {{},
          "host " + where.host + ": no answer for its addresses within " +
            std::to_string(deadline.count()) + " ms"};
}

uint64_t random_number() {
  std::random_device source;
  return (uint64_t{source()} << 32) | source();
}

bool is_for_later(int error) {
  return error == EAGAIN || error == EWOULDBLOCK || error == EINTR;
}

} // namespace troupe
