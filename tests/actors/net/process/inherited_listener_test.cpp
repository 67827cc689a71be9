// A listening socket that whoever started this process has bound: the gate takes it as it is.

#include "actors/net/gate/gate.hpp"
#include "actors/net/socket/channel.hpp"
#include "data/text/failure.hpp"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace troupe::inherited_listener_test {
namespace {

// Bound to any port of the address, as `troupe launch` leaves it.
int bound_socket(uint32_t address) {
  const int result = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in where{};
  where.sin_family = AF_INET;
  where.sin_addr.s_addr = htonl(address);
  EXPECT_EQ(bind(result, reinterpret_cast<const sockaddr*>(&where), sizeof where), 0);
  return result;
}

gate_options options_with(int descriptor) {
  gate_options result;
  result.listen = parse_endpoint("127.0.0.1:1"); // not permitted: it must not be asked for
  result.inherited_listen_fd = descriptor;
  return result;
}

TEST(inherited_listener, gate_listens_on_it_and_says_its_port) {
  const int descriptor = bound_socket(INADDR_LOOPBACK);
  sockaddr_in where{};
  socklen_t size = sizeof where;
  getsockname(descriptor, reinterpret_cast<sockaddr*>(&where), &size);
  const int client = socket(AF_INET, SOCK_STREAM, 0);
  EXPECT_NE(connect(client, reinterpret_cast<const sockaddr*>(&where), size), 0)
    << "nobody listens before the gate does";
  close(client);
  const gate here{options_with(descriptor)};
  EXPECT_EQ(here.port(), ntohs(where.sin_port));
  const int second = socket(AF_INET, SOCK_STREAM, 0);
  EXPECT_EQ(connect(second, reinterpret_cast<const sockaddr*>(&where), size), 0);
  close(second);
  EXPECT_NE(fcntl(descriptor, F_GETFD) & FD_CLOEXEC, 0) << "no further process is to have it";
  EXPECT_NE(fcntl(descriptor, F_GETFL) & O_NONBLOCK, 0);
}

TEST(inherited_listener, gate_closes_it) {
  const int descriptor = bound_socket(INADDR_LOOPBACK);
  { const gate here{options_with(descriptor)}; }
  EXPECT_LT(fcntl(descriptor, F_GETFD), 0);
}

TEST(inherited_listener, address_that_others_reach_needs_consent_too) {
  EXPECT_THROW(gate{options_with(bound_socket(INADDR_ANY))}, failure);
  auto options = options_with(bound_socket(INADDR_ANY));
  options.plan.insecure = true;
  EXPECT_NO_THROW(gate{options});
}

TEST(inherited_listener, descriptor_that_is_no_socket_is_refused) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  try {
    const gate here{options_with(ends[0])};
    FAIL();
  } catch (const failure& error) {
    EXPECT_EQ(error.code(), failure_code::io_error);
    EXPECT_NE(error.reason().find("inherited descriptor " + std::to_string(ends[0])),
              std::string::npos);
  }
  close(ends[1]);
}

} // namespace
} // namespace troupe::inherited_listener_test
