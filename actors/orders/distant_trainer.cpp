#include "troupe/actors/orders/distant_trainer.hpp"

namespace troupe {

trainer_actor::behavior_type distant_trainer(trainer_actor::pointer self, const trainer_life& who,
                                             const local_node_actor& node) {
  self->monitor(node);
  self->set_down_handler([=](const caf::down_msg&) { self->quit(); });
  return {
    [](const view&) {},
    [](const parameter_span&) {},
    [](const horizon&) {},
    [](atom::hold, uint64_t) {}, // the node asks the keeper
    [](const summation&) {},
    [](atom::status) { return replica_status{}; }, // its own node is asked
    [=](const trainer_order& order) {
      self->send(node, distant_order{who, order, std::nullopt});
    },
    [=](const evaluation_order& order) {
      self->send(node, distant_order{who, std::nullopt, order});
    },
  };
}

} // namespace troupe
