#include "actors/net/process/node_identity.hpp"

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/node_id.hpp>

#include <algorithm>
#include <random>

namespace troupe {

namespace {

/// Modules begin in order of their numbers: this one after the middleman, which sets the identity, and before
/// anything is spawned.
class node_identity : public caf::actor_system::module {
public:
  explicit node_identity(caf::actor_system& system) : system_(system) {}

  // The system has a member and no setter.
  void init(caf::actor_system_config&) override {
    caf::node_id::default_data::host_id_type host;
    std::random_device source;
    std::ranges::generate(host, [&] { return static_cast<uint8_t>(source()); });
    const_cast<caf::node_id&>(system_.node()) = caf::make_node_id(source(), host);
  }
  void start() override {}
  void stop() override {}
  id_t id() const override { return opencl_manager; }
  void* subtype_ptr() override { return this; }

private:
  caf::actor_system& system_;
};

} // namespace

void draw_node_identity(caf::actor_system_config& config) {
  config.module_factories.push_back([](caf::actor_system& system) -> caf::actor_system::module* {
    return new node_identity{system};
  });
}

} // namespace troupe
