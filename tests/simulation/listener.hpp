// An actor that is a function: whatever is sent to it is handed over at once, in the sender's turn.
//
// With it the world stands where a network would: a wire's end is a listener that looks like the
// actor at the other end. As a network's stand-in for a remote actor it can be monitored, and dies
// when the world says that its link is lost.

#pragma once

#include <caf/actor_cast.hpp>
#include <caf/actor_proxy.hpp>
#include <caf/actor_system.hpp>
#include <caf/mailbox_element.hpp>
#include <caf/make_actor.hpp>
#include <caf/message.hpp>
#include <caf/system_messages.hpp>

#include <functional>
#include <utility>

namespace troupe::simulation {

class listener final : public caf::actor_proxy {
public:
  using function = std::function<void(const caf::message&)>;

  listener(caf::actor_config& config, function f)
    : caf::actor_proxy(config), function_(std::move(f)) {}

  using caf::abstract_actor::enqueue;

  void enqueue(caf::mailbox_element_ptr what, caf::execution_unit*) override {
    const auto content = what->move_content_to_message();
    // What actors tell each other about their lives is not a message to anybody.
    const bool is_notice = content.match_elements<caf::exit_msg>() ||
                           content.match_elements<caf::down_msg>() ||
                           (!content.empty() && content.match_element<caf::sys_atom>(0));
    if (function_ && !is_notice)
      function_(content);
  }

  /// Its monitors are told; messages to it go nowhere.
  void kill_proxy(caf::execution_unit* context, caf::error reason) override {
    function_ = {};
    cleanup(std::move(reason), context);
  }

private:
  function function_;
};

inline caf::strong_actor_ptr make_listener(caf::actor_system& system, listener::function f) {
  caf::actor_config config;
  return caf::make_actor<listener, caf::strong_actor_ptr>(system.next_actor_id(), system.node(),
                                                          &system, config, std::move(f));
}

inline void end_listener(const caf::strong_actor_ptr& x, const caf::error& reason) {
  static_cast<listener*>(caf::actor_cast<caf::abstract_actor*>(x))->kill_proxy(nullptr, reason);
}

} // namespace troupe::simulation
