#include "actors/tasks/distant_trainer.hpp"

namespace troupe {

task_taker_actor::behavior_type distant_trainer(task_taker_actor::pointer self,
                                                const trainer_life& who,
                                                const local_node_actor& node) {
  self->monitor(node);
  self->set_down_handler([=](const caf::down_msg&) { self->quit(); });
  return {
    [=](const trainer_task& task) {
      self->send(node, distant_task{who, task, std::nullopt});
    },
    [=](const evaluation_task& task) {
      self->send(node, distant_task{who, std::nullopt, task});
    },
  };
}

} // namespace troupe
