// What a director says of the run while it goes on: to whoever asks, and by itself when it stands
// still.

#include "troupe/actors/director/director.hpp"

#include <algorithm>

namespace troupe {

namespace {

double seconds_of(moment::duration time) {
  return std::chrono::duration<double>(time).count();
}

} // namespace

training_status director_state::on_status() const {
  const auto now = self_->clock().now();
  const auto& plan = options_.rule.plan;
  training_status status;
  status.phase = phase_text();
  status.version = version_;
  status.last_version = plan.last_version();
  status.epoch = version_ / plan.steps_in_epoch();
  status.epochs = plan.epoch_of(plan.last_version() - 1) + 1;
  status.seconds = finished_ ? result_.seconds : seconds_since_begin();
  status.steps_per_second = finished_ ? 0 : pace_.steps_per_second(now);
  status.samples_per_second = status.steps_per_second * static_cast<double>(plan.row_count) /
                              static_cast<double>(plan.steps_in_epoch());
  status.replicas = view_.replicas.size();
  status.shards = view_.shards.size();
  status.waits_for = waits_for();
  status.still = begin_ && !finished_ ? seconds_of(now - moved_) : 0;
  status.job_sha256 = options_.job_sha256;
  status.view = view_.id; // people count the terms of this director from 1
  status.view.term -= first_term_ ? *first_term_ - 1 : 0;
  status.views = result_.views;
  status.replicas_lost = result_.replicas_lost;
  status.rollbacks = result_.rollbacks;
  if (is_still(now))
    status.late = holding_up(heard_members(now));
  for (const auto& node : options_.membership.expected)
    status.nodes.push_back(status_of(node, now));
  status.figures = figures();
  fill_in_results(status);
  return status;
}

// What everybody asks for: how well it learns, and how long it takes.
void director_state::fill_in_results(training_status& status) const {
  if (last_progress_.steps_in_epoch > 0) { // there was some
    status.train_loss = last_progress_.train_loss;
    status.train_accuracy = last_progress_.train_accuracy;
  }
  if (!history_.empty())
    status.newest_row = {history_.back()};
  if (finished_)
    return;
  status.learning_rate = rate_at(version_);
  if (status.steps_per_second > 0)
    status.seconds_left =
      static_cast<double>(status.last_version - std::min(version_, status.last_version)) /
      status.steps_per_second;
}

std::string director_state::phase_text() const {
  const bool is_training = rule_->state() == director_rule::phase::training ||
                           rule_->state() == director_rule::phase::keeping;
  return result_.failed                      ? "failed"
         : finished_                         ? "finished"
         : waiting_ || view_.members.empty() ? "waiting"
         : is_training                       ? "training"
                                             : "stopping";
}

node_status director_state::status_of(const expected_member& node, moment now) const {
  node_status result;
  result.name = node.name;
  result.is_director = node.name == options_.membership.home;
  result.replicas = node.replica_count;
  result.shards = node.shard_count;
  const auto way = links_.find(node.name);
  result.is_linked = way != links_.end();
  if (const auto found = reports_.find(node.name); found != reports_.end()) {
    const auto& news = found->second.news;
    result.version = news.held;
    result.shard_versions = news.shard_versions;
    result.waits = news.waits;
    result.silence = seconds_of(now - found->second.at);
    for (const auto& replica : news.replicas)
      result.samples += replica.sample_count;
    result.bytes_sent = news.bytes_sent;
    result.resends = news.resends;
  }
  const auto place = view_.find(node.name);
  if (!place || !result.is_linked)
    return result;
  result.takes_part = view_.members[*place].incarnation == way->second.who.incarnation;
  result.replicas = view_.members[*place].replica_count;
  result.shards = view_.members[*place].shard_count;
  for (const auto& replica : view_.replicas)
    result.slices += replica.member == *place ? replica.slices.size() : 0;
  for (const auto& shard : view_.shards)
    result.spans += shard.member == *place && !shard.blocks.empty() ? 1 : 0;
  return result;
}

// Who is waited for, by name, as far as anybody said so.
std::string director_state::waits_for() const {
  if (finished_)
    return {};
  if (!begin_)
    return "begin";
  if (waiting_)
    return waiting_->reason;
  const auto now = self_->clock().now();
  if (const auto late = holding_up(heard_members(now)); is_still(now) && !late.empty())
    return waiting_text(late);
  switch (rule_->state()) {
  case director_rule::phase::training:
    return "step " + std::to_string(version_);
  case director_rule::phase::holding:
    return "replicas to finish their step";
  case director_rule::phase::keeping:
    return "the parameters of the best version";
  case director_rule::phase::ending:
    return "the result and what everybody did";
  }
  return {};
}

/// A report is a second old: what it says was true while nothing moved since.
bool director_state::is_still(moment now) const {
  return begin_ && !finished_ && now - moved_ >= repeat_interval;
}

std::vector<heard_process> director_state::heard_members(moment now) const {
  std::vector<heard_process> result;
  for (const auto& who : view_.members) {
    const auto way = links_.find(who.name);
    if (way == links_.end())
      continue; // its loss is dealt with
    const auto report = reports_.find(who.name);
    const bool is_known = report != reports_.end();
    const auto heard_at = is_known ? report->second.at : way->second.since;
    result.push_back({who.name, is_known ? report->second.news.waits : std::vector<awaited>{},
                      std::chrono::duration_cast<milliseconds>(now - heard_at),
                      is_known ? report->second.news.work.busy : milliseconds{0}});
  }
  return result;
}

director_state::wait director_state::current_wait(moment now) const {
  if (waiting_) {
    const auto left = waiting_->since + options_.membership.join_timeout - now;
    return {waiting_->reason, waiting_->since,
            joining_text(waiting_->names, std::chrono::duration_cast<milliseconds>(left))};
  }
  const auto late = holding_up(heard_members(now));
  if (late.empty())
    return {phase_text(), moved_, "waiting for " + waits_for()};
  std::string who;
  for (const auto& x : late)
    who += x.name + ' ';
  return {who, moved_, waiting_text(late)};
}

// With the last progress again, so that nobody who shows progress takes it for a step back.
void director_state::tell(const std::string& line) {
  auto news = last_progress_;
  news.notice = line;
  for (const auto& observer : observers_)
    self_->send(observer, news);
}

void director_state::see_to_waits(moment now) {
  if (finished_)
    return;
  if (!waiting_ && now - moved_ < teller_.patience()) {
    if (const auto lasted = teller_.over(now))
      tell("the wait is over, after " + time_text(*lasted));
    return;
  }
  const bool is_long_step = std::ranges::any_of(
    reports_, [this](const auto& entry) { return watch_.works_as_usual(entry.second.news.work); });
  if (!waiting_ && is_long_step)
    return; // that is no news
  const auto found = current_wait(now);
  if (teller_.is_due(found.who, found.since, now))
    tell(found.text);
}

void director_state::send_progress(const training_progress& news) {
  for (const auto& observer : observers_)
    self_->send(observer, news);
  last_progress_ = news;
  last_progress_.finished_epoch.reset();
}

} // namespace troupe
