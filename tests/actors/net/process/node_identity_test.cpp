#include "troupe/actors/net/process/networked_process.hpp"

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>

#include <gtest/gtest.h>

#include <string>

namespace troupe::node_identity_test {

namespace {

/// But for the last byte, in which CAF counts the systems of a process.
std::string identity() {
  caf::actor_system_config config;
  configure_node(config, {});
  const caf::actor_system system{config};
  return to_string(system.node()).substr(0, 38);
}

} // namespace

// By process number and network card they are one.
TEST(node_identity, is_another_each_time) {
  const auto first = identity();
  EXPECT_EQ(first.size(), 38u);
  EXPECT_NE(first, identity());
}

} // namespace troupe::node_identity_test
