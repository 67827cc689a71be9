#include "actors/orders/distant_trainer.hpp"

namespace troupe {

order_taker_actor::behavior_type distant_trainer(order_taker_actor::pointer self,
                                                 const trainer_life& who,
                                                 const local_node_actor& node) {
  self->monitor(node);
  self->set_down_handler([=](const caf::down_msg&) { self->quit(); });
  return {
    [=](const trainer_order& order) {
      self->send(node, distant_order{who, order, std::nullopt});
    },
    [=](const evaluation_order& order) {
      self->send(node, distant_order{who, std::nullopt, order});
    },
  };
}

} // namespace troupe
