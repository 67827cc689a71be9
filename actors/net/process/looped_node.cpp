#include "actors/net/process/looped_node.hpp"

#include "actors/base/guard.hpp"
#include "actors/protocol/boundary_messages.hpp"
#include "actors/protocol/order_messages.hpp"

#include <utility>

namespace troupe {

namespace {

class looped_node
  : public caf::stateful_actor<node_state, rounds_by_default<local_node_actor::base>> {
public:
  using super = caf::stateful_actor<node_state, rounds_by_default<local_node_actor::base>>;

  looped_node(caf::actor_config& config, std::shared_ptr<node_loop> loop, node_options options,
              local_company local)
    : super(config),
      loop_(std::move(loop)),
      options_(std::move(options)),
      local_(std::move(local)) {
    loop_->add_actor();
  }

  using super::enqueue;
  void enqueue(caf::mailbox_element_ptr what, caf::execution_unit*) override {
    super::enqueue(std::move(what), loop_->queue());
  }
  void launch(caf::execution_unit*, bool lazy, bool hide) override {
    super::launch(loop_->queue(), lazy, hide);
  }

protected:
  local_node_actor::behavior_type make_behavior() override {
    return troupe::node(this, std::exchange(options_, {}), std::exchange(local_, {}));
  }

private:
  std::shared_ptr<node_loop> loop_;
  node_options options_;
  local_company local_;
};

} // namespace

local_node_actor spawn_looped(caf::actor_system& system, const std::shared_ptr<node_loop>& loop,
                              const node_options& options, const local_company& local) {
  return system.spawn<looped_node>(loop, options, local);
}

} // namespace troupe
