#include "troupe/app/node_address.hpp"

#include <algorithm>
#include <charconv>

#include <arpa/inet.h>

namespace troupe {

namespace {

value_refusal no_address(std::string_view text, const std::string& why) {
  return {"no address: " + toml_text(text) + " " + why,
          "write host:port, such as \"127.0.0.1:7400\" or \"[::1]:7400\""};
}

std::optional<uint16_t> port_of(std::string_view text) {
  unsigned value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value > UINT16_MAX)
    return std::nullopt;
  return static_cast<uint16_t>(value);
}

// What a name or an IPv4 number may hold; anything else would only fail later, at the resolver.
bool is_host_name(std::string_view host) {
  return std::all_of(host.begin(), host.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '-' || c == '_';
  });
}

bool is_ipv6(const std::string& host) {
  in6_addr number{};
  return inet_pton(AF_INET6, host.c_str(), &number) == 1;
}

} // namespace

std::optional<value_refusal> read_address(std::string_view text, node_address& out) {
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos)
    return no_address(text, "has no port");
  const auto port = port_of(text.substr(colon + 1));
  if (!port)
    return no_address(text, "has a port that is no number from 0 to 65535");
  const auto host = text.substr(0, colon);
  if (host.empty())
    return no_address(text, "has no host");
  if (host.front() == '[' && host.back() == ']') {
    const std::string number{host.substr(1, host.size() - 2)};
    if (!is_ipv6(number))
      return no_address(text, "has no IPv6 number in its brackets");
    out = {number, *port};
    return std::nullopt;
  }
  if (host.find(':') != std::string_view::npos)
    return no_address(text, "has too many colons; an IPv6 number stands in brackets");
  if (!is_host_name(host))
    return no_address(text, "has a host with characters that no name has");
  out = {std::string{host}, *port};
  return std::nullopt;
}

std::string address_text(const node_address& x) {
  const bool bracketed = x.host.find(':') != std::string::npos;
  return (bracketed ? "[" + x.host + "]" : x.host) + ":" + std::to_string(x.port);
}

bool is_loopback(const node_address& x) {
  in_addr v4{};
  if (inet_pton(AF_INET, x.host.c_str(), &v4) == 1)
    return (ntohl(v4.s_addr) >> 24) == 127;
  in6_addr v6{};
  if (inet_pton(AF_INET6, x.host.c_str(), &v6) == 1)
    return IN6_IS_ADDR_LOOPBACK(&v6);
  return x.host == "localhost";
}

bool is_any_address(const node_address& x) {
  in_addr v4{};
  if (inet_pton(AF_INET, x.host.c_str(), &v4) == 1)
    return v4.s_addr == INADDR_ANY;
  in6_addr v6{};
  return inet_pton(AF_INET6, x.host.c_str(), &v6) == 1 && IN6_IS_ADDR_UNSPECIFIED(&v6);
}

} // namespace troupe
