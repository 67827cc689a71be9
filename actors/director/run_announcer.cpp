#include "actors/director/run_announcer.hpp"

#include <algorithm>
#include <variant>

namespace troupe {

void run_announcer::send_view() {
  repeated_ = context_.now();
  context_.send_to_members(context_.view);
}

directive run_announcer::current_directive() const {
  auto result = directive_;
  result.term = context_.term();
  result.sent = nanoseconds_of(context_.now());
  return result;
}

void run_announcer::send_directive() const {
  context_.send_to_members(current_directive());
}

void run_announcer::allow(const horizon_rule& horizon) {
  directive_.rule = horizon;
  waiting_horizon_.reset();
  hold_request_.reset();
  ++directive_.sequence;
  send_directive();
}

void run_announcer::allow_what_waits() {
  if (waiting_horizon_)
    allow(horizon_rule{*waiting_horizon_});
}

void run_announcer::count_anew() {
  ++directive_.round;
  count_clock_ = {};
}

void run_announcer::ask_for_counts(moment now) {
  if (count_clock_.due(now))
    send_directive();
}

void run_announcer::tick(moment now) {
  if (now - repeated_ < repeat_interval)
    return;
  repeated_ = now;
  context_.send_to_members_if(context_.view, [this](const std::string& who) {
    const auto* said = roster_.find(who);
    return said == nullptr || said->news.view != context_.view.id;
  });
  if (hold_request_)
    context_.send_to_members(*hold_request_);
  else if (directive_.sequence > 0)
    send_directive();
}

void run_announcer::begin_term() {
  waiting_horizon_.reset();
  hold_request_.reset();
  hold_.end();
}

// During a hold the only horizon sent is the one that the hold names.
run_announcer::named_version run_announcer::on_stop() {
  waiting_horizon_.reset();
  return carry_out(hold_.on_stop_requested());
}

run_announcer::named_version run_announcer::on_view() {
  return carry_out(hold_.on_view(context_.view));
}

// Ignores numbers that no process of this job can have.
run_announcer::named_version run_announcer::on_held(const hold_answer& news) {
  const auto last = context_.options.rule.plan.last_version();
  const bool exists = news.next_step <= last &&
                      std::ranges::all_of(news.shard_versions, [=](auto x) { return x <= last; });
  return exists ? carry_out(hold_.on_held(news)) : std::nullopt;
}

run_announcer::named_version run_announcer::on_report_of(const std::string& process) {
  const auto* said = roster_.find(process);
  const bool counts =
    said && said->news.view.term == context_.term() && context_.view.find(process);
  return counts ? carry_out(hold_.on_shard_versions(said->news.shard_versions)) : std::nullopt;
}

run_announcer::named_version run_announcer::carry_out(const hold_decisions& decisions) {
  named_version result;
  for (const auto& decision : decisions)
    if (const auto* stop = std::get_if<stop_at>(&decision)) {
      hold_request_.reset();
      result = stop->version;
    } else {
      hold_request_ = hold_request{context_.term(), ++directive_.sequence};
      context_.send_to_members(*hold_request_);
    }
  return result;
}

} // namespace troupe
