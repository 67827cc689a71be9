#include "troupe/app/cluster/node_address.hpp"

#include "troupe/data/text/failure.hpp"

#include <arpa/inet.h>

namespace troupe {

std::optional<value_refusal> read_address(std::string_view text, endpoint& out) {
  try {
    out = parse_endpoint(text);
    return std::nullopt;
  } catch (const failure& error) {
    return value_refusal{error.reason(), error.hint()};
  }
}

bool is_loopback(const endpoint& x) {
  in_addr v4{};
  if (inet_pton(AF_INET, x.host.c_str(), &v4) == 1)
    return (ntohl(v4.s_addr) >> 24) == 127;
  in6_addr v6{};
  if (inet_pton(AF_INET6, x.host.c_str(), &v6) == 1)
    return IN6_IS_ADDR_LOOPBACK(&v6);
  return x.host == "localhost";
}

bool is_any_address(const endpoint& x) {
  in_addr v4{};
  if (inet_pton(AF_INET, x.host.c_str(), &v4) == 1)
    return v4.s_addr == INADDR_ANY;
  in6_addr v6{};
  return inet_pton(AF_INET6, x.host.c_str(), &v6) == 1 && IN6_IS_ADDR_UNSPECIFIED(&v6);
}

} // namespace troupe
