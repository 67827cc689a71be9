#include "actors/net/links/links.hpp"

#include "actors/net/carriers/carriers.hpp"
#include "actors/net/gate/visit.hpp"
#include "actors/net/links/peer_process.hpp"
#include "actors/protocol/status_messages.hpp"
#include "data/text/failure.hpp"

#include <caf/actor_cast.hpp>
#include <caf/actor_system.hpp>
#include <caf/io/scribe.hpp>
#include <caf/sec.hpp>
#include <caf/send.hpp>

#include <algorithm>
#include <set>
#include <utility>

namespace troupe {

namespace {

process_identity identity_of(const process_facts& x) {
  return {x.process, x.life};
}

std::optional<endpoint> endpoint_of(const std::string& text) {
  try {
    return parse_endpoint(text);
  } catch (const failure&) {
    return std::nullopt;
  }
}

/// An address that others can dial, as far as it shows.
bool may_be_dialled(const std::string& text) {
  const auto where = endpoint_of(text);
  return where && where->port != 0 && where->host != "0.0.0.0" && where->host != "::";
}

verdict undialled(const std::string& name, const std::string& address) {
  return {verdict_kind::refused,
          shown_fact(name) + " says that others can dial it at " + shown_fact(address) +
            ", which nobody can",
          refusal_code::mismatch};
}

/// Where a process that is there is dialled; nothing: it dials this one, or nobody who may says so.
std::optional<endpoint> address_to_dial(const links_options& here, const std::string& peer,
                                        const std::string& told, bool is_from_director) {
  const auto& plan = here.plan;
  const bool is_listed = plan.lists(peer);
  if (!plan.is_before(peer, here.own_name) || (!is_listed && (!plan.join || !is_from_director)))
    return std::nullopt;
  return endpoint_of(is_listed ? plan.nodes[*plan.find(peer)].address : told);
}

std::string failed_run(const std::string& reason) {
  return "the director ended the run: " + reason;
}

} // namespace

local_links_actor::behavior_type links_state::make_behavior(const links_options& options) {
  options_ = options;
  names_ = name_registry{options_.introduction_deadline};
  joiners_ = joiner_places{options_.plan};
  const auto director = std::ranges::find(options_.plan.nodes, true, &cluster_node::is_director);
  director_name_ = director == options_.plan.nodes.end() ? std::string{} : director->name;
  if (options_.own_name != director_name_)
    watch_.emplace(director_name_ + (director_name_.empty() ? "" : " at " + director->address),
                   options_.plan.timeouts.join, self_->clock().now());
  // A message with a damaged type: drop it, without a log line and without an end.
  self_->set_default_handler(caf::drop);
  self_->set_down_handler([this](const caf::down_msg& news) { on_down(news); });
  self_->delayed_send(self_, links_tick_interval, atom::tick_v);
  return {
    [this](const local_node_actor& node, const director_actor& director_here) {
      on_actors(node, director_here);
    },
    [this](const gate_event& news) { std::visit([this](const auto& x) { take(x); }, news.what); },
    [this](const introduction& news) { on_introduction(news); },
    [this](atom::join, const std::string& who, const std::string& where) {
      if (const auto address = address_to_dial(options_, who, where, is_from_director()))
        options_.gate.dial_now(who, *address);
    },
    [this](atom::leave, const std::string& who) {
      if (is_from_director() && !who.empty())
        options_.gate.forget(who);
    },
    [this](const farewell& news) { return on_farewell(news); },
    [](caf::ping_atom) { return caf::pong_atom_v; },
    [this](const standing& news) { on_standing(news); },
    [this](atom::stop, const farewell& news) { return on_stop(news); },
    [this](atom::tick) { on_tick(); },
  };
}

// A director of this process is linked directly.
void links_state::on_actors(const local_node_actor& node, const director_actor& director) {
  node_ = node;
  director_ = director;
  if (!director_)
    return;
  const auto& here = options_.plan.nodes[*options_.plan.find(options_.own_name)];
  const member who{here.name, random_number(), here.replica_count, here.shard_count};
  self_->send(node_, who.incarnation, caf::actor_cast<director_link_actor>(director_));
  self_->send(director_, who, caf::actor_cast<node_actor>(node_));
}

// ---- connections ----

void links_state::take(const candidate_news& news) {
  const auto& peer = news.peer.node;
  if (news.peer.carrier != 0) {
    const auto found = linked_.find(peer);
    const bool is_its =
      found != linked_.end() && found->second.peer.carrier.token == news.peer.carrier;
    return options_.gate.answer(news.ticket, is_its ? verdict{} : name_not_free_yet(peer));
  }
  if (!options_.plan.lists(peer) && !may_be_dialled(news.peer.address))
    return options_.gate.answer(news.ticket, undialled(peer, news.peer.address));
  if (const auto full =
        director_ ? joiners_.on_candidate(peer, names_, self_->clock().now()) : verdict{};
      !full.is_admitted()) {
    say_of_strangers(peer + " may not join yet", full.reason);
    return options_.gate.answer(news.ticket, full);
  }
  switch (names_.on_candidate(peer, identity_of(news.peer), news.ticket)) {
  case name_registry::advice::let_in:
    return options_.gate.answer(news.ticket, {});
  case name_registry::advice::ask_holder:
    return ask_holder(news);
  case name_registry::advice::replace:
    // The actor system then notices that the old link is lost.
    if (const auto found = linked_.find(peer); found != linked_.end())
      found->second.hold.cut();
    if (const auto found = opened_.find(peer); found != opened_.end())
      forget(found->second.news.ticket, "the other side has given it up");
    return options_.gate.answer(news.ticket, name_not_free_yet(peer));
  case name_registry::advice::later:
    return options_.gate.answer(news.ticket, name_not_free_yet(peer));
  }
}

void links_state::ask_holder(const candidate_news& news) {
  const auto holder = linked_.find(news.peer.node);
  if (holder == linked_.end())
    return options_.gate.answer(news.ticket, name_not_free_yet(news.peer.node));
  self_->request(holder->second.peer.links, ping_deadline, caf::ping_atom_v)
    .then([this, news](
            caf::pong_atom) { options_.gate.answer(news.ticket, name_in_use(news.peer.node)); },
          [this, news](const caf::error&) {
            options_.gate.answer(news.ticket, name_not_free_yet(news.peer.node));
          });
}

void links_state::take(const withdrawn_news& news) {
  names_.on_withdrawn(news.ticket);
}

void links_state::take(const opened_news& news) {
  const auto& peer = news.peer.node;
  if (news.carrier != 0) {
    if (options_.carrying)
      options_.carrying->take(peer, news.carrier, news.connection);
    return;
  }
  if (!names_.on_opened(peer, identity_of(news.peer), news.ticket, self_->clock().now())) {
    if (news.was_dialled)
      options_.gate.dial_again(peer);
    return; // nothing keeps the connection, so it closes
  }
  opened_[peer] = {news, connection_hold{*news.connection}, {}, {}};
  if (options_.carrying)
    opened_[peer].offer = options_.carrying->offer();
  failing_.on_success(peer);
  hand_over(
    self_, news, options_.introduction_deadline,
    [this, news](const caf::strong_actor_ptr& shown) { on_shown(news, shown); },
    [this, news] { forget(news.ticket, "it was lost at once"); });
}

void links_state::on_shown(const opened_news& news, const caf::strong_actor_ptr& shown) {
  const auto found = opened_.find(news.peer.node);
  if (found == opened_.end() || found->second.news.ticket != news.ticket)
    return;
  found->second.shown = caf::actor_cast<links_actor>(shown);
  self_->monitor(found->second.shown);
  introduce(found->second.shown, news.own_incarnation, true, found->second.offer);
}

// Gives up a connection. The end of its hold cuts it, so that the other side notices, too.
void links_state::forget(uint64_t ticket, const char* why) {
  names_.on_withdrawn(ticket);
  const auto found =
    std::ranges::find(opened_, ticket, [](const auto& x) { return x.second.news.ticket; });
  if (found == opened_.end())
    return;
  const auto [peer, was_dialled] = std::pair{found->first, found->second.news.was_dialled};
  opened_.erase(found);
  if (is_over_)
    return;
  say("a connection with " + peer + " is given up before both were linked: " + why);
  if (was_dialled)
    options_.gate.dial_again(peer);
}

void links_state::introduce(const links_actor& to, uint64_t own_incarnation, bool wants_answer,
                            const carrier_offer& offer) {
  const auto& here = options_.plan.nodes[*options_.plan.find(options_.own_name)];
  introduction news;
  news.who = {here.name, own_incarnation, here.replica_count, here.shard_count};
  news.node = caf::actor_cast<node_actor>(node_);
  if (director_)
    news.director = caf::actor_cast<director_link_actor>(director_);
  news.links = self_;
  news.wants_answer = wants_answer;
  news.carrier = offer;
  self_->send(to, news);
}

void links_state::on_introduction(const introduction& news) {
  const auto known = linked_.find(news.who.name);
  if (known != linked_.end() && known->second.peer.links == news.links) {
    const bool is_new = known->second.peer.who.incarnation != news.who.incarnation;
    const auto before = std::exchange(known->second.peer, news);
    known->second.peer.who.life = before.who.life;
    known->second.peer.carrier = before.carrier; // the carrier stays with the link
    if (is_new && director_)                     // it joins anew
      self_->send(director_, known->second.peer.who, news.node);
    return;
  }
  const auto here = opened_.find(news.who.name);
  if (here == opened_.end() || here->second.news.peer.incarnation != news.who.incarnation ||
      !news.links || !news.node || !names_.on_introduced(news.who.name, here->second.news.ticket))
    return;
  auto connection = std::move(here->second);
  opened_.erase(here);
  if (news.wants_answer)
    introduce(news.links, connection.news.own_incarnation, false, connection.offer);
  link(news, std::move(connection));
}

void links_state::link(const introduction& news, opened&& connection) {
  const auto& peer = news.who.name;
  stopping_.others.on_linked(peer);
  auto& here = linked_[peer] = {news, connection.news.own_incarnation, std::move(connection.hold),
                                connection.news.peer.address};
  here.peer.who.life = connection.news.peer.life;
  if (!connection.shown) // else on_shown monitors it
    self_->monitor(news.links);
  self_->send(node_, peer, news.who.incarnation, news.node);
  if (options_.carrying) // after the node has the peer's handle
    options_.carrying->open(peer, {connection.offer, news.carrier, connection.news.was_dialled});
  if (director_) {
    self_->send(director_, here.peer.who, news.node);
    for (const auto& [other, there] : linked_)
      if (other != peer) {
        self_->send(there.peer.links, atom::join_v, peer, here.address);
        self_->send(news.links, atom::join_v, other, there.address);
      }
  } else if (peer == director_name_) {
    options_.gate.forget({}); // it tells of those that are there
    join_director(news);
  }
  say("linked with " + peer);
}

bool links_state::is_from_director() const {
  const auto director = linked_.find(director_name_);
  return director != linked_.end() &&
         director->second.peer.links.address() == self_->current_sender();
}

void links_state::join_director(const introduction& news) {
  rejoining_.at.reset();
  watch_->on_linked();
  linked_at_ = self_->clock().now();
  if (news.director)
    self_->send(node_, linked_.at(news.who.name).own_incarnation, news.director);
}

// The node gets the new incarnation first: a view that names it may come at once.
void links_state::join_anew() {
  rejoining_.is_out = true;
  const auto found = linked_.find(director_name_);
  if (found == linked_.end())
    return;
  found->second.own_incarnation = random_number();
  join_director(found->second.peer);
  introduce(found->second.peer.links, found->second.own_incarnation, false);
  say("joins anew: " + director_name_ + " had given it up");
}

void links_state::on_standing(const standing& news) {
  if (!news.misfit.empty())
    return end(static_cast<uint8_t>(refusal_code::mismatch),
               news.misfit + "; start all nodes with the same cluster file");
  options_.gate.see_term(news.view.term);
  linked_at_.reset();
  const auto found = linked_.find(director_name_);
  if (found == linked_.end() || found->second.own_incarnation != news.incarnation)
    return; // of an earlier life
  if (!news.work.empty()) {
    rejoining_.at.reset();
    if (std::exchange(rejoining_.is_out, false))
      say("takes part again");
    if (!director_ && std::exchange(work_, news.work) != news.work)
      say(news.work);
  } else if (!rejoining_.at) {
    rejoining_.at = self_->clock().now() + rejoin_delay;
  }
}

void links_state::on_down(const caf::down_msg& news) {
  const auto found = std::ranges::find_if(
    linked_, [&](const auto& entry) { return entry.second.peer.links.address() == news.source; });
  if (found != linked_.end())
    return lose(std::string{found->first});
  const auto half = std::ranges::find_if(opened_, [&](const auto& entry) {
    return entry.second.shown && entry.second.shown.address() == news.source;
  });
  if (half != opened_.end())
    forget(half->second.news.ticket, "it was lost at once");
}

void links_state::lose(const std::string& peer) {
  linked_.erase(peer);
  names_.on_lost(peer);
  joiners_.on_lost(peer, self_->clock().now());
  if (director_ && !options_.plan.lists(peer))
    for (const auto& [other, there] : linked_)
      self_->send(there.peer.links, atom::leave_v, peer);
  if (options_.carrying)
    options_.carrying->close(peer);
  if (stopping_.others.waits_for(peer))
    options_.gate.dial_again(peer);
  confirm_end();
  if (is_over_)
    return;
  stopping_.others.on_lost(peer, self_->clock().now());
  say("the link with " + peer + " is lost");
  if (peer == director_name_ && watch_)
    watch_->on_lost(self_->clock().now());
  options_.gate.dial_again(peer);
}

// ---- the end ----

// Only the director may end the run: a farewell of another process is ignored.
atom::stop links_state::on_farewell(const farewell& news) {
  if (is_from_director())
    end(news.code, news.code == 0 ? news.reason : failed_run(news.reason));
  return atom::stop_v;
}

caf::typed_response_promise<atom::stop> links_state::on_stop(const farewell& news) {
  is_over_ = true;
  options_.gate.close(news.code == 0 ? run_is_over("the run is " + news.reason)
                                     : verdict{verdict_kind::refused, failed_run(news.reason),
                                               static_cast<refusal_code>(news.code)});
  stopping_.others.begin(self_->clock().now());
  stopping_.answer = self_->make_response_promise<atom::stop>();
  for (const auto& [peer, there] : linked_) {
    stopping_.others.tell(peer);
    self_->request(there.peer.links, lost_lately, news)
      .then(
        [this, who = peer](atom::stop) {
          stopping_.others.on_told(who);
          confirm_end();
        },
        [](const caf::error&) {});
  }
  const auto promise = stopping_.answer;
  confirm_end();
  return promise;
}

// Who does not answer is dialled when its link is lost.
void links_state::confirm_end() {
  if (stopping_.answer.pending() && linked_.empty() && stopping_.others.is_over())
    stopping_.answer.deliver(atom::stop_v);
}

void links_state::on_tick() {
  self_->delayed_send(self_, links_tick_interval, atom::tick_v);
  if (is_over_)
    return;
  const auto now = self_->clock().now();
  if (rejoining_.at && *rejoining_.at <= now) {
    rejoining_.at.reset();
    join_anew();
  }
  for (const auto& [peer, due] : std::map{dials_at_})
    if (due <= now) {
      dials_at_.erase(peer);
      options_.gate.dial_again(peer);
    }
  for (const auto ticket : names_.overdue(now))
    forget(ticket, "it has stalled");
  if (const auto why = watch_ ? watch_->overdue(now) : std::nullopt)
    end(static_cast<uint8_t>(refusal_code::unavailable), *why,
        "start the director, or raise timeouts.join");
  else if (watch_)
    tell_waits(now);
}

void links_state::end(uint8_t code, const std::string& reason, const std::string& hint) {
  if (is_over_)
    return;
  is_over_ = true;
  self_->send(options_.observer, process_news{reason, true, code, hint});
}

local_links_actor::behavior_type links(self_pointer<local_links_actor, links_state> self,
                                       const links_options& options) {
  guard(self);
  return self->state.make_behavior(options);
}

namespace {

/// Tells the director, for its status, why a process is missing. Names outside the file are a
/// stranger's.
void tell_of_trouble(local_links_actor::pointer self, const director_actor& director,
                     const cluster_plan& plan, const std::string& who, const std::string& why) {
  if (director && (who.empty() || plan.find(who)))
    self->send(director, who, why);
}

} // namespace

void links_state::take(const visitor_news& news) {
  const auto refuse = [this, news](refusal_code code, const std::string& why) {
    options_.gate.answer_visit(news.ticket, visit_refusal({verdict_kind::refused, why, code}));
  };
  if (!director_)
    return refuse(refusal_code::mismatch,
                  options_.own_name + " is not the director: ask " + director_name_);
  if (news.what.what == "table" && options_.table.empty())
    return refuse(refusal_code::mismatch, "all nodes of this run read the same rows");
  if (news.what.what == "table")
    return options_.gate.answer_visit(news.ticket,
                                      visit_answer(table_answer{.table = options_.table}));
  self_->request(director_, status_deadline, atom::status_v)
    .then(
      [this, news](const training_status& status) {
        options_.gate.answer_visit(news.ticket, visit_answer(status));
      },
      [refuse](const caf::error& why) {
        refuse(refusal_code::unavailable,
               why == caf::sec::request_timeout
                 ? "the director has been busy for " + time_text(status_deadline) + ": ask again"
                 : "the director is about to end");
      });
}

void links_state::take(const refused_news& news) {
  const auto& [peer, why, was_dialled] = news.what;
  if (is_over_) {
    stopping_.others.on_told(peer);
    return confirm_end();
  }
  if (ends_process(news.what, options_.plan, options_.own_name))
    return end(static_cast<uint8_t>(why.code), why.reason);
  tell_of_trouble(
    self_, director_, options_.plan, peer,
    (peer.empty() ? "a process at " + news.host + " was refused: " : "it was refused: ") +
      why.reason);
  if (!was_dialled)
    return say_of_strangers("refused a process at " + news.host, why.reason);
  if (failing_.on_reason(peer, why.reason))
    say("refused by " + peer + ": " + why.reason);
  dials_at_[peer] = self_->clock().now() + refused_dial_delay;
}

void links_state::take(const turned_away_news& news) {
  tell_of_trouble(self_, director_, options_.plan, {},
                  "a connection from " + news.host + " was turned away: " + news.reason);
  if (!is_over_)
    say_of_strangers("turned away a connection from " + news.host, news.reason);
}

void links_state::take(const files_unfit_news& news) {
  say("the certificate files were replaced by some that do not fit, and those from before count: " +
      news.reason);
}

// Limits the lines about strangers, so that they cannot fill the log.
void links_state::say_of_strangers(const std::string& what, const std::string& why) {
  const auto count = strangers_.on_reason(why, self_->clock().now());
  if (count)
    say(what + ": " + why +
        (*count > 1 ? " (" + std::to_string(*count) + " times since this was said last)" : ""));
}

void links_state::take(const failing_news& news) {
  if (news.name == director_name_ && watch_)
    watch_->on_failing(news.reason);
  if (!is_over_ && failing_.on_reason(news.name, news.reason))
    say(news.name + " cannot be reached: " + news.reason);
}

// Reports waits for the director itself. The director reports what training waits for.
void links_state::tell_waits(moment now) {
  if (const auto& since = watch_->away_since()) {
    if (teller_.is_due("it is away", *since, now))
      say(watch_->waiting_text(now));
  } else if (linked_at_ && teller_.is_due("it has not begun", *linked_at_, now)) {
    say("waiting for the director (" + director_name_ + ") to begin: it may miss others");
  }
}

void links_state::say(const std::string& line) {
  self_->send(options_.observer, process_news{line, false, 0});
}

} // namespace troupe
