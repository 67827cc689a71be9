#include "troupe/actors/net/process/networked_process.hpp"

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>

#include <gtest/gtest.h>

namespace troupe::node_identity_test {

// By process number and network card they are one.
TEST(node_identity, two_systems_of_one_process_are_two_nodes) {
  caf::actor_system_config first;
  caf::actor_system_config second;
  configure_node(first, {});
  configure_node(second, {});
  const caf::actor_system one{first};
  const caf::actor_system other{second};
  EXPECT_TRUE(one.node());
  EXPECT_NE(one.node(), other.node());
}

} // namespace troupe::node_identity_test
