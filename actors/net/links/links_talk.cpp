// What the links hear that is no connection, and what they tell people: visitors, refusals, peers
// that cannot be reached, waits.

#include "actors/net/gate/visit.hpp"
#include "actors/net/links/links.hpp"
#include "actors/protocol/status_messages.hpp"

#include <caf/actor_system.hpp>
#include <caf/sec.hpp>
#include <caf/send.hpp>

#include <string>

namespace troupe {

namespace {

/// For people who ask why a process is waited for; a name that the plan does not have is a stranger's.
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
  if (is_over_)
    return;
  if (ends_process(news.what, options_.plan, options_.own_name))
    return end(static_cast<uint8_t>(why.code), why.reason);
  tell_of_trouble(self_, director_, options_.plan, peer,
                  (was_dialled    ? "it refused: "
                   : peer.empty() ? "a process at " + news.host + " was refused: "
                                  : "it was refused: ") +
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

// What strangers do fills no log.
void links_state::say_of_strangers(const std::string& what, const std::string& why) {
  const auto count = strangers_.on_reason(why, self_->clock().now());
  if (count)
    say(what + ": " + why +
        (*count > 1 ? " (" + std::to_string(*count) + " times since this was said last)" : ""));
}

void links_state::take(const failing_news& news) {
  if (news.name == director_name_ && watch_)
    watch_->on_failing(news.reason);
  tell_of_trouble(self_, director_, options_.plan, news.name,
                  "it cannot be reached: " + news.reason);
  if (!is_over_ && failing_.on_reason(news.name, news.reason))
    say(news.name + " cannot be reached: " + news.reason);
}

// What training waits for is the director's to say; here, the way into it.
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
