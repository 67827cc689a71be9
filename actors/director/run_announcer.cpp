#include "actors/director/run_announcer.hpp"

#include <algorithm>
#include <variant>

namespace troupe {

void run_announcer::send_view() {
  repeated_ = seat_.now();
  seat_.send_to_members(seat_.view);
}

course run_announcer::current_course() const {
  auto result = course_;
  result.term = seat_.term();
  result.sent = nanoseconds_of(seat_.now());
  return result;
}

void run_announcer::send_course() const {
  seat_.send_to_members(current_course());
}

void run_announcer::allow(const horizon_rule& horizon) {
  course_.rule = horizon;
  waiting_horizon_.reset();
  hold_request_.reset();
  ++course_.sequence;
  send_course();
}

void run_announcer::allow_what_waits() {
  if (waiting_horizon_)
    allow(horizon_rule{*waiting_horizon_});
}

void run_announcer::count_anew() {
  ++course_.round;
  count_clock_ = {};
}

void run_announcer::ask_for_counts(moment now) {
  if (count_clock_.due(now))
    send_course();
}

void run_announcer::tick(moment now) {
  if (now - repeated_ < repeat_interval)
    return;
  repeated_ = now;
  seat_.send_to_members_if(seat_.view, [this](const std::string& who) {
    const auto* said = roster_.find(who);
    return said == nullptr || said->news.view != seat_.view.id;
  });
  if (hold_request_)
    seat_.send_to_members(*hold_request_);
  else if (course_.sequence > 0)
    send_course();
}

void run_announcer::begin_term() {
  waiting_horizon_.reset();
  hold_request_.reset();
}

// Who holds is told no horizon but the one that is named.
run_announcer::named_version run_announcer::on_stop() {
  waiting_horizon_.reset();
  return carry_out(hold_.on_stop_requested());
}

run_announcer::named_version run_announcer::on_view() {
  return carry_out(hold_.on_view(seat_.view));
}

// Numbers that no process of this job can have are not taken.
run_announcer::named_version run_announcer::on_held(const hold_answer& news) {
  const auto last = seat_.options.rule.plan.last_version();
  const bool exists = news.next_step <= last &&
                      std::ranges::all_of(news.shard_versions, [=](auto x) { return x <= last; });
  return exists ? carry_out(hold_.on_held(news)) : std::nullopt;
}

run_announcer::named_version run_announcer::carry_out(const hold_decisions& decisions) {
  named_version result;
  for (const auto& decision : decisions)
    if (const auto* stop = std::get_if<stop_at>(&decision)) {
      hold_request_.reset();
      result = stop->version;
    } else {
      hold_request_ = hold_request{seat_.term(), ++course_.sequence};
      seat_.send_to_members(*hold_request_);
    }
  return result;
}

} // namespace troupe
