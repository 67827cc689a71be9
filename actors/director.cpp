#include "troupe/actors/director.hpp"

#include "troupe/actors/guard.hpp"

#include <algorithm>
#include <utility>

namespace troupe {

director_actor::behavior_type director_state::make_behavior(const director_options& options) {
  options_ = options;
  rule_.emplace(options.rule);
  return {
    [this](atom::status) { return on_status(); },
    [this](atom::watch, const observer_actor& observer) { on_watch(observer); },
    [this](atom::stop) { carry_out(rule_->on_stop_requested()); },
    [this](atom::begin) { on_begin(); },
    [this](const training_report& news) { on_training_report(news); },
    [this](const evaluation& news) { on_evaluation(news); },
    [this](atom::held, uint64_t replica, uint64_t next_step) {
      carry_out(rule_->on_held(replica, next_step));
    },
    [this](const not_finite_report& news) { on_not_finite(news); },
    [this](atom::pull) { return on_pull(); },
  };
}

void director_state::on_view(const view& news) {
  view_ = news;
  view_.director = self_;
  for (const auto& entry : view_.replicas)
    self_->monitor(entry.actor);
  for (const auto& entry : view_.shards)
    self_->monitor(entry.actor);
  self_->set_down_handler([this](const caf::down_msg& down) { on_down(down); });
}

void director_state::on_begin() {
  if (begin_)
    return;
  begin_ = clock::now();
  // Replicas first: a shard announces its parameters as soon as it hears of them.
  for (const auto& entry : view_.replicas)
    self_->send(entry.actor, view_);
  for (const auto& entry : view_.shards)
    self_->send(entry.actor, view_);
  carry_out(rule_->start());
}

void director_state::on_watch(const observer_actor& observer) {
  if (finished_)
    self_->send(observer, result_);
  else
    observers_.push_back(observer);
}

void director_state::on_training_report(const training_report& news) {
  version_ = std::max(version_, news.version);
  report_seconds_[news.version] = news.seconds;
  if (news.is_row)
    return carry_out(rule_->on_trained(news.version, news.sums));
  for (const auto& observer : observers_)
    self_->send(observer, progress_at(news.version, news.sums));
}

void director_state::on_evaluation(const evaluation& news) {
  carry_out(rule_->on_evaluated(news.version, news.first_chunk, news.chunks));
}

void director_state::on_not_finite(const not_finite_report& news) {
  if (news.conflict)
    return fail("equal work gave different bits: at step " + std::to_string(news.step) + " " +
                news.what + ", the second from replica " + std::to_string(news.replica) +
                "; a machine computes wrongly, or differs from the others");
  divergence what{news.step, news.what, std::nullopt};
  if (news.has_slice) {
    what.slice = news.slice;
    what.what += " (computed by replica " + std::to_string(news.replica) + ")";
  }
  carry_out(rule_->on_not_finite(what));
}

void director_state::on_down(const caf::down_msg& news) {
  const auto is_it = [&](const auto& entry) { return entry.actor.address() == news.source; };
  const auto replica = std::ranges::find_if(view_.replicas, is_it);
  const bool is_replica = replica != view_.replicas.end();
  const auto index = is_replica ? replica - view_.replicas.begin()
                                : std::ranges::find_if(view_.shards, is_it) - view_.shards.begin();
  fail((is_replica ? "replica " : "shard ") + std::to_string(index) +
       " was lost: " + self_->system().render(news.reason));
}

void director_state::carry_out(const director_decisions& decisions) {
  for (const auto& decision : decisions)
    std::visit([this](const auto& x) { carry_out(x); }, decision);
}

void director_state::carry_out(const allow_up_to& decision) {
  for (const auto& entry : view_.replicas)
    self_->send(entry.actor, horizon{decision.horizon});
  for (const auto& entry : view_.shards)
    self_->send(entry.actor, horizon{decision.horizon});
}

void director_state::carry_out(const hold_replicas&) {
  for (const auto& entry : view_.replicas)
    self_->send(entry.actor, atom::hold_v);
}

void director_state::carry_out(const publish_row& decision) {
  const auto row = row_of(decision.figures);
  if (!history_.empty() && history_.back().steps == row.steps)
    history_.pop_back();
  history_.push_back(row);
  auto progress = progress_at(decision.figures.version, decision.figures.train);
  progress.finished_epoch = row;
  for (const auto& observer : observers_)
    self_->send(observer, progress);
  row_seconds_ = row.seconds;
  report_seconds_.erase(report_seconds_.begin(), report_seconds_.lower_bound(row.steps));
}

void director_state::carry_out(const keep_version& decision) {
  if (!finished_)
    fetch(decision.version);
}

void director_state::carry_out(const finish_at& decision) {
  if (finished_)
    return;
  const auto end = rule_->end_version();
  result_.version = decision.version;
  result_.is_best = rule_->best().has_value();
  // The shard that keeps the book may have been ahead of one that met a bad value.
  std::erase_if(history_, [&](const history_row& row) { return row.steps > end; });
  result_.reason = static_cast<uint8_t>(decision.reason);
  result_.seconds = end == 0 ? 0 : seconds_at(end);
  result_.problem = problem_text();
  missing_answers_ = view_.replicas.size() + 1; // and the parameters
  if (result_.is_best) {
    ++round_;
    on_fetched(decision.version, best_parameters_);
  } else {
    fetch(decision.version);
  }
  ask_replicas();
}

std::string director_state::problem_text() const {
  const auto& diverged = rule_->diverged();
  if (!diverged)
    return {};
  const auto step = std::to_string(diverged->step);
  const auto& best = rule_->best();
  return "training diverged: at step " + step + " " + diverged->what +
         " was not finite and was not applied; the parameters of version " +
         (best ? std::to_string(best->version) + ", the best one," : step) + " are kept";
}

void director_state::fetch(uint64_t version) {
  const auto round = ++round_;
  fetched_version_ = version;
  spans_.emplace(view_.shards, options_.parameter_count);
  for (size_t k = 0; k < view_.shards.size(); ++k)
    self_->request(view_.shards[k].actor, collect_deadline, atom::pull_v, version)
      .then(
        [this, round](const parameter_span& part) {
          if (round == round_)
            on_span(part);
        },
        fail_unless_late("shard", k));
}

void director_state::on_span(const parameter_span& part) {
  if (spans_->add(part) == span_collector::verdict::damaged)
    return fail("shard " + std::to_string(part.shard) + " sent a damaged span");
  const auto whole = spans_->whole();
  if (!whole)
    return;
  spans_.reset(); // and with it what the spans hold on to
  on_fetched(fetched_version_, *whole);
}

void director_state::on_fetched(uint64_t version, const const_buffer& parameters) {
  if (rule_->state() != director_rule::phase::ending) {
    best_parameters_ = parameters;
    return carry_out(rule_->on_kept(version));
  }
  parameters_ = parameters;
  finish_when_complete();
}

void director_state::ask_replicas() {
  const auto round = round_;
  result_.replicas.resize(view_.replicas.size());
  for (size_t i = 0; i < view_.replicas.size(); ++i)
    self_->request(view_.replicas[i].actor, collect_deadline, atom::status_v)
      .then(
        [this, round, i](const replica_status& status) {
          if (round == round_)
            on_replica_status(i, status);
        },
        fail_unless_late("replica", i));
}

std::function<void(const caf::error&)> director_state::fail_unless_late(const char* who,
                                                                        size_t index) {
  return [this, round = round_, who, index](const caf::error& problem) {
    if (round == round_)
      fail(std::string{who} + ' ' + std::to_string(index) + " did not answer when " +
           (rule_->state() == director_rule::phase::ending ? "training ended"
                                                           : "the best version was kept") +
           ": " + self_->system().render(problem));
  };
}

void director_state::on_replica_status(size_t replica, const replica_status& status) {
  result_.replicas[replica] = status;
  finish_when_complete();
}

void director_state::finish_when_complete() {
  if (!finished_ && --missing_answers_ == 0)
    publish_finished();
}

void director_state::fail(const std::string& why) {
  if (finished_)
    return;
  ++round_;
  result_.failed = true;
  result_.problem = why;
  parameters_.reset();
  publish_finished();
}

void director_state::publish_finished() {
  finished_ = true;
  result_.history = history_;
  for (const auto& observer : observers_)
    self_->send(observer, result_);
}

caf::result<parameter_span> director_state::on_pull() const {
  if (!finished_ || !parameters_)
    return caf::make_error(protocol_error::not_finished);
  return parameter_span{result_.version, 0, payload{*parameters_, 0, parameters_->size()}};
}

director_actor::behavior_type director(director_actor::stateful_pointer<director_state> self,
                                       const director_options& options, const view& company) {
  guard(self);
  auto behavior = self->state.make_behavior(options);
  self->state.on_view(company);
  return behavior;
}

} // namespace troupe
