#include "actors/net/names/name_directory.hpp"

#include "actors/net/links/peer_process.hpp"

#include <caf/actor_addr.hpp>
#include <caf/actor_cast.hpp>
#include <caf/actor_system.hpp>
#include <caf/send.hpp>

#include <algorithm>
#include <utility>
#include <variant>
#include <vector>

namespace troupe {

namespace {

/// How often a directory looks for overdue introductions.
constexpr milliseconds directory_tick_interval{100};

} // namespace

local_name_directory_actor::behavior_type
name_directory_state::make_behavior(const name_directory_options& options) {
  options_ = options;
  self_->set_default_handler(caf::drop); // a message with a damaged type
  self_->set_down_handler([this](const caf::down_msg& news) { on_down(news); });
  self_->delayed_send(self_, directory_tick_interval, atom::tick_v);
  return {
    [this](const name_introduction& news) { on_introduction(news); },
    [this](const gate_event& news) { std::visit([this](const auto& x) { take(x); }, news.what); },
    [this](caf::publish_atom, const named_actor& what) { on_publish(what); },
    [this](atom::watch, const named_actor& what) { return on_watch(what); },
    [this](atom::tick) { on_tick(); },
  };
}

// ---- Connections ----

// A process that has lost its connection, or was started again, comes again. Its name is not free until this side has
// noticed the loss.
void name_directory_state::take(const candidate_news& news) {
  const auto& peer = news.peer.node;
  const bool is_free = news.peer.carrier == 0 && !met_.contains(peer);
  options_.answer(news.ticket, is_free ? verdict{} : name_not_free_yet(peer));
}

void name_directory_state::take(const opened_news& news) {
  const auto& peer = news.peer.node;
  if (news.carrier != 0 || met_.contains(peer))
    return; // nothing keeps the connection, so it closes
  auto& here = met_[peer];
  here.news = news;
  here.hold = connection_hold{*news.connection};
  here.since = self_->clock().now();
  reasons_.erase(peer);
  hand_over(
    self_, news, options_.introduction_deadline,
    [this, news](const caf::strong_actor_ptr& shown) { on_shown(news, shown); },
    [this, news] {
      if (const auto found = met_.find(news.peer.node);
          found != met_.end() && found->second.news.ticket == news.ticket)
        forget(news.peer.node);
    });
}

void name_directory_state::on_shown(const opened_news& news, const caf::strong_actor_ptr& shown) {
  const auto found = met_.find(news.peer.node);
  if (found == met_.end() || found->second.news.ticket != news.ticket)
    return;
  found->second.directory = caf::actor_cast<name_directory_actor>(shown);
  self_->monitor(found->second.directory);
  introduce(found->second, true);
}

void name_directory_state::take(const refused_news& news) {
  if (options_.plan.find(news.what.peer))
    reasons_[news.what.peer] = news.what.why.reason;
}

void name_directory_state::take(const failing_news& news) {
  reasons_[news.name] = news.reason;
}

void name_directory_state::forget(const std::string& peer) {
  const auto found = met_.find(peer);
  if (found == met_.end())
    return;
  const bool was_dialled = found->second.news.was_dialled;
  if (found->second.directory)
    self_->demonitor(found->second.directory.address());
  met_.erase(found); // cuts the connection, so that the other side notices, too
  reasons_[peer] = "its connection was lost";
  tell_listeners();
  if (was_dialled)
    options_.dial_again(peer);
}

// ---- Introductions ----

void name_directory_state::introduce(const met_process& to, bool wants_answer) {
  self_->send(to.directory, name_introduction{options_.own_name, self_, own_, wants_answer});
}

void name_directory_state::on_introduction(const name_introduction& news) {
  const auto found = met_.find(news.process);
  if (found == met_.end() || !news.directory || news.actors.size() > actor_names_max ||
      self_->current_sender() != caf::actor_cast<caf::strong_actor_ptr>(news.directory) ||
      to_string(news.directory.node()) != found->second.news.peer.process)
    return;
  auto& peer = found->second;
  if (!peer.directory) {
    peer.directory = news.directory;
    self_->monitor(peer.directory);
  }
  if (peer.directory != news.directory)
    return;
  peer.is_introduced = true;
  peer.actors = news.actors;
  std::erase_if(peer.actors, [&](const auto& entry) {
    const auto& [word, actor] = entry;
    return word.empty() || word.size() > actor_name_bytes_max || !actor ||
           actor->node() != news.directory.node();
  });
  if (news.wants_answer)
    introduce(peer, false);
  tell_listeners();
}

// ---- Names ----

void name_directory_state::on_publish(const named_actor& what) {
  if (own_.size() == actor_names_max && !own_.contains(what.name))
    return;
  own_[what.name] = caf::actor_cast<caf::strong_actor_ptr>(what.which);
  self_->monitor(what.which);
  announce();
}

void name_directory_state::announce() {
  for (const auto& [peer, there] : met_)
    if (there.directory)
      introduce(there, false);
  tell_listeners();
}

std::string name_directory_state::on_watch(const named_actor& what) {
  auto& here = followed_[what.name];
  here.told = actor_of(what.name);
  if (here.listeners.insert(what.which).second)
    self_->monitor(what.which);
  if (here.told)
    caf::anon_send(what.which, atom::found_v, what.name, here.told);
  return not_reached();
}

// Of actors with one name this process's comes first, then those of others in the plan's order.
caf::strong_actor_ptr name_directory_state::actor_of(const std::string& word) const {
  if (const auto found = own_.find(word); found != own_.end())
    return found->second;
  for (const auto& node : options_.plan.nodes)
    if (const auto there = met_.find(node.name); there != met_.end())
      if (const auto found = there->second.actors.find(word); found != there->second.actors.end())
        return found->second;
  return nullptr;
}

// By their addresses: news of an actor of another process that crosses the news of its end makes a second handle of it.
void name_directory_state::tell_listeners() {
  const auto address = [](const caf::strong_actor_ptr& x) {
    return caf::actor_cast<caf::actor_addr>(x);
  };
  for (auto& [word, here] : followed_)
    if (const auto now = actor_of(word); address(now) != address(here.told)) {
      here.told = now;
      for (const auto& one : here.listeners)
        caf::anon_send(one, atom::found_v, word, now);
    }
}

// An actor that has ended may be a directory, a published actor and a listener at once.
void name_directory_state::on_down(const caf::down_msg& news) {
  const auto lost = std::ranges::find_if(
    met_, [&](const auto& entry) { return entry.second.directory.address() == news.source; });
  if (lost != met_.end())
    forget(std::string{lost->first});
  for (auto& [word, here] : followed_)
    std::erase_if(here.listeners, [&](const auto& one) { return one.address() == news.source; });
  std::erase_if(followed_, [](const auto& entry) { return entry.second.listeners.empty(); });
  if (std::erase_if(own_, [&](const auto& entry) { return news.source == entry.second; }) > 0)
    announce();
}

// Only the directory's own ticks count: others could make it tick ever more often.
void name_directory_state::on_tick() {
  if (self_->current_sender() != caf::actor_cast<caf::strong_actor_ptr>(self_))
    return;
  self_->delayed_send(self_, directory_tick_interval, atom::tick_v);
  std::vector<std::string> stalled;
  for (const auto& [peer, there] : met_)
    if (!there.is_introduced &&
        self_->clock().now() - there.since >= options_.introduction_deadline)
      stalled.push_back(peer);
  for (const auto& peer : stalled)
    forget(peer);
}

std::string name_directory_state::not_reached() const {
  std::string result;
  for (const auto& node : options_.plan.nodes) {
    const auto found = met_.find(node.name);
    if (node.name == options_.own_name || (found != met_.end() && found->second.is_introduced))
      continue;
    const auto why = reasons_.find(node.name);
    result += (result.empty() ? "" : "; ") + node.name + " (" + node.address +
              "): " + (why == reasons_.end() ? "it has not come" : why->second);
  }
  return result;
}

local_name_directory_actor::behavior_type
name_directory(self_pointer<local_name_directory_actor, name_directory_state> self,
               const name_directory_options& options) {
  guard(self);
  return self->state.make_behavior(options);
}

} // namespace troupe
