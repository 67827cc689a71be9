#include "actors/net/names/coordinator_link.hpp"

#include <caf/actor_cast.hpp>
#include <caf/actor_system.hpp>

#include <utility>

namespace troupe {

namespace {

/// After it a question counts as lost, with its answer. Longer than a coordinator takes for any, `stop` among them, whose
/// members may have minutes of patience.
constexpr milliseconds question_deadline{600'000};

} // namespace

local_coordinator_actor::behavior_type
coordinator_link_state::make_behavior(const std::string& word) {
  word_ = word;
  self_->set_down_handler([this](const caf::down_msg& news) {
    std::erase_if(watchers_, [&](const auto& one) { return one.address() == news.source; });
  });
  return {
    [this](atom::join, const std::string& who, const caf::actor& member) {
      return pass_on<membership>(atom::join_v, who, member);
    },
    [this](atom::pull, const membership& who) { return pass_on<member_work>(atom::pull_v, who); },
    [this](const member_update& news) { return pass_on<update_report>(news); },
    [this](atom::watch, const model_listener_actor& watcher) { on_watch(watcher); },
    [this](atom::pull) { return pass_on<parameter_span>(atom::pull_v); },
    [this](atom::save) { return pass_on<uint64_t>(atom::save_v); },
    [this](atom::stop) { return pass_on<uint64_t>(atom::stop_v); },
    [](atom::tick) {},
    [this](atom::found, const std::string&, const caf::strong_actor_ptr& which) {
      on_found(which);
    },
  };
}

void coordinator_link_state::on_found(const caf::strong_actor_ptr& which) {
  const auto found = caf::actor_cast<coordinator_actor>(which);
  if (found == there_)
    return;
  there_ = found;
  for (const auto& [number, tell] : std::exchange(under_way_, {}))
    tell();
  for (const auto& one : watchers_)
    if (there_)
      self_->send(there_, atom::watch_v, one);
}

caf::error coordinator_link_state::absence() const {
  return caf::make_error(caf::sec::request_receiver_down,
                         "no process has the coordinator " + word_);
}

template <class Answer, class... Question>
caf::result<Answer> coordinator_link_state::pass_on(const Question&... question) {
  if (!there_)
    return absence();
  auto promise = self_->template make_response_promise<Answer>();
  const auto number = next_question_++;
  under_way_[number] = [this, promise]() mutable { promise.deliver(absence()); };
  const auto is_open = [this, number] { return under_way_.erase(number) > 0; };
  self_->request(there_, question_deadline, question...)
    .then(
      [is_open, promise](Answer& answer) mutable {
        if (is_open())
          promise.deliver(std::move(answer));
      },
      [is_open, promise](caf::error& why) mutable {
        if (is_open())
          promise.deliver(std::move(why));
      });
  return promise;
}

void coordinator_link_state::on_watch(const model_listener_actor& watcher) {
  if (!watcher)
    return;
  if (watchers_.insert(watcher).second)
    self_->monitor(watcher);
  if (there_)
    self_->send(there_, atom::watch_v, watcher);
}

local_coordinator_actor::behavior_type
coordinator_link(self_pointer<local_coordinator_actor, coordinator_link_state> self,
                 const std::string& word) {
  guard(self);
  return self->state.make_behavior(word);
}

coordinator_actor find_coordinator(caf::actor_system& system, networked_names& here,
                                   const std::string& name) {
  const auto link = system.spawn(coordinator_link, name);
  here.follow(name, caf::actor_cast<caf::actor>(link));
  return link;
}

} // namespace troupe
