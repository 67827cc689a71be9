// Distant trainer: stands for a trainer of another process beside the parameter server, which gives orders to
// it as to any other.
//
//   parameter server --trainer_order, evaluation_order--> distant trainer --distant_order--> node == wire ==>
//   parameter server <------------------------------ trainer_result ----------------------- node <= wire ===
//
// There is one for each life of the process it stands for: it ends when a view comes without that,
// and the parameter server hears of it as of the end of any trainer.

#pragma once

#include "actors/protocol/order_messages.hpp"

#include <caf/typed_event_based_actor.hpp>

namespace troupe {

order_taker_actor::behavior_type distant_trainer(order_taker_actor::pointer self,
                                                 const trainer_life& who,
                                                 const local_node_actor& node);

} // namespace troupe
