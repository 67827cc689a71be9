// Distant trainer: stands for a trainer of another process. The parameter server gives it tasks as to a local one.
//
//   parameter server --trainer_task, evaluation_task--> distant trainer --distant_task--> node == wire ==>
//   parameter server <------------------------------ trainer_result ----------------------- node <= wire ===
//
// There is one for each life of a trainer's process. It ends when a view no longer names that life, and the parameter
// server gets a down message as for any trainer.

#pragma once

#include "actors/protocol/task_messages.hpp"

#include <caf/typed_event_based_actor.hpp>

namespace troupe {

task_taker_actor::behavior_type distant_trainer(task_taker_actor::pointer self,
                                                const trainer_life& who,
                                                const local_node_actor& node);

} // namespace troupe
