#include "troupe/actors/director/director.hpp"

#include "troupe/actors/base/guard.hpp"

#include <algorithm>
#include <utility>

namespace troupe {

namespace {

/// In one process nobody waits for a wire: what takes long is a long step, which is no news.
constexpr milliseconds alone_patience{10'000};

} // namespace

director_actor::behavior_type director_state::make_behavior(const director_options& options) {
  options_ = options;
  checkpoint_ = options.resume_from;
  tensors_ = std::make_shared<buffer_pool>(options.parameter_count);
  options_.rule.waits_for_rows =
    options.membership.expected.size() > 1 && !options.rule.rows.empty();
  if (options.membership.expected.size() <= 1)
    teller_ = wait_teller{alone_patience};
  rule_.emplace(options_.rule);
  exchange_ = {speaking_director(), options.exchange};
  drafts_.emplace(exchange_, options.parameter_count, options.slot_count, tensors_);
  watch_ = work_watch{options.membership.lost_after};
  // A type that was damaged on a wire: nobody prints, nobody ends.
  self_->set_default_handler(caf::drop);
  self_->set_down_handler([this](const caf::down_msg& news) { on_down(news); });
  self_->delayed_send(self_, director_tick_interval, atom::tick_v);
  return {
    [this](atom::status) { return on_status(); },
    [this](atom::watch, const observer_actor& observer) { on_watch(observer); },
    [this](atom::stop) { on_stop(); },
    [this](atom::begin) { on_begin(); },
    [this](const member& who, const node_actor& way) { on_member(who, way); },
    [this](const node_report& news) { on_node_report(news); },
    [this](const training_report& news) { on_training_report(news); },
    [this](const evaluation& news) { on_evaluation(news); },
    [this](const not_finite_report& news) { on_not_finite(news); },
    [this](const sent_piece& news) { on_piece(news); },
    [this](const sent_want& news) {
      exchange_.on(news, self_->clock().now());
      settle();
    },
    [this](const sent_credit& news) {
      exchange_.on(news, self_->clock().now());
      settle();
    },
    [this](const sent_stamp& news) {
      exchange_.on(news);
      settle();
    },
    [this](const shard_numbers& news) { on_shard_numbers(news); },
    [this](const hold_answer& news) { on_hold_answer(news); },
    [this](atom::pull) { return on_pull(); },
    [this](atom::tick) { on_tick(); },
  };
}

void director_state::on_begin() {
  if (begin_)
    return;
  const auto now = self_->clock().now();
  begin_ = moved_ = last_tick_ = now;
  if (checkpoint_)
    options_.membership.checkpoint_version = checkpoint_->version;
  membership_.emplace(options_.membership, now);
  for (const auto& [who, way] : std::map{links_})
    carry_out(membership_->on_joined(way.who, now));
  carry_out(membership_->on_tick(now));
}

void director_state::on_watch(const observer_actor& observer) {
  if (finished_)
    self_->send(observer, result_);
  else
    observers_.push_back(observer);
}

void director_state::on_stop() {
  if (!stop_asked_)
    stop_asked_at_ = self_->clock().now();
  stop_asked_ = true;
  if (!finished_)
    carry_out(rule_->on_stop_requested());
}

void director_state::on_training_report(const training_report& news) {
  if (news.term != term() || finished_ || news.version > options_.rule.plan.last_version())
    return;
  if (news.version > version_) {
    version_ = news.version;
    moved_ = self_->clock().now();
    pace_.on_version(version_, moved_);
  }
  report_seconds_.add(news.version, seconds_before_ + news.seconds, news.is_row || news.is_mark);
  if (news.is_row)
    carry_out(rule_->on_trained(news.version, news.sums));
  else if (news.sums.sample_count > 0)
    send_progress(progress_at(news.version, news.sums));
  if (news.is_mark)
    carry_out(rule_->on_marked(news.version));
  if (!news.notice.empty())
    tell(news.notice);
}

void director_state::on_evaluation(const evaluation& news) {
  const auto chunk_count = options_.rule.rows.chunk_count();
  if (news.term == term() && !finished_ && news.first_chunk <= chunk_count &&
      news.chunks.size() <= chunk_count - news.first_chunk)
    carry_out(rule_->on_evaluated(news.version, news.first_chunk, news.chunks));
}

void director_state::on_not_finite(const not_finite_report& news) {
  if (news.term != term() || finished_)
    return;
  if (news.problem == step_problem::malformed)
    return fail(failure_code::internal,
                "at step " + std::to_string(news.step) + " " + news.what + " came" +
                  (news.has_slice ? " from replica " + std::to_string(news.replica) : "") +
                  " and was not applied",
                {}, "please report this");
  if (news.problem == step_problem::conflict)
    return fail(failure_code::internal,
                "equal work gave different bits: at step " + std::to_string(news.step) + " " +
                  news.what + ", the second from replica " + std::to_string(news.replica) +
                  "; a machine computes wrongly, or differs from the others");
  if (news.problem == step_problem::unsolvable)
    return fail(failure_code::bad_data, news.what, {},
                "leave such features out, or set optimizer.l2 (closed-form) or "
                "optimizer.damping (gauss-newton) to a small number");
  divergence what{news.step, news.what, std::nullopt};
  if (news.has_slice) {
    what.slice = news.slice;
    what.what += " (computed by replica " + std::to_string(news.replica) + ")";
  }
  carry_out(rule_->on_not_finite(what));
}

void director_state::on_tick() {
  self_->delayed_send(self_, director_tick_interval, atom::tick_v);
  if (!membership_ || finished_)
    return;
  const auto now = self_->clock().now();
  carry_out(membership_->on_tick(now));
  see_to_hung(now);
  see_to_standstill(now);
  see_to_stop(now);
  see_to_waits(now);
  ask_for_missing(now);
  if (now - repeated_ < repeat_interval)
    return;
  repeated_ = now;
  send_to_members(view_);
  if (hold_request_)
    send_to_members(*hold_request_);
  else if (sequence_ > 0)
    send_to_members(current_course());
}

void director_state::carry_out(const director_decisions& decisions) {
  for (const auto& decision : decisions)
    std::visit([this](const auto& x) { carry_out(x); }, decision);
}

void director_state::carry_out(const allow_up_to& decision) {
  horizon_ = decision.horizon;
  hold_request_.reset();
  send_course();
}

void director_state::carry_out(const hold_replicas&) {
  carry_out(hold_.on_stop_requested());
}

// A second row of a version that lacks training figures, because this run went on from there, adds
// the evaluation to the first one.
void director_state::carry_out(const publish_row& decision) {
  auto row = row_of(decision.figures);
  if (!history_.empty() && history_.back().steps == row.steps) {
    if (decision.figures.train.sample_count == 0) {
      row.train_loss = history_.back().train_loss;
      row.train_accuracy = history_.back().train_accuracy;
    }
    history_.pop_back();
  }
  history_.push_back(row);
  auto progress = progress_at(decision.figures.version, decision.figures.train);
  progress.finished_epoch = row;
  send_progress(progress);
  row_seconds_ = row.seconds;
  report_seconds_.forget_below(row.steps);
}

void director_state::carry_out(const keep_version& decision) {
  fetch(decision.version);
}

void director_state::carry_out(const finish_at& decision) {
  const auto end = rule_->end_version();
  ending_ = true;
  result_.version = decision.version;
  result_.is_best = rule_->best().has_value();
  // The shard that keeps the book may have been ahead of one that met a bad value.
  std::erase_if(history_, [&](const history_row& row) { return row.steps > end; });
  result_.reason = static_cast<uint8_t>(decision.reason);
  result_.end_version = end;
  result_.seconds = end == 0 ? 0 : seconds_at(end);
  result_.problem = problem_text();
  // A version whose rows were evaluated is one that every shard has reached. Otherwise all are
  // asked for it even if the best one is kept: one that cannot reach it says so before the end.
  parameters_.reset();
  // A shard that met a bad value gets no further: nobody waits for checkpoints beyond it.
  drafts_->drop_from(end + 1);
  if (is_result_kept() && !options_.rule.rows.empty())
    parameters_ = best_parameters_;
  fetch(end);
}

bool director_state::is_result_kept() const {
  const auto& kept = rule_->kept();
  return kept && kept->version == result_.version;
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

// The result is whole when the parameters are, everybody has said what was done, and the last
// checkpoint is written.
void director_state::finish_when_complete() {
  if (!ending_ || finished_ || !parameters_)
    return;
  for (const auto& who : view_.members)
    if (who.replica_count + who.shard_count > 0 && reports_[who.name].news.round < round_)
      return; // what it did and what it sent is still to be heard
  if (!drafts_->is_awaiting())
    publish_finished();
}

void director_state::fail(failure_code code, const std::string& why, const std::string& where,
                          const std::string& hint) {
  if (finished_)
    return;
  result_.failed = true;
  result_.failure = static_cast<uint8_t>(code);
  result_.problem = why;
  result_.where = where;
  result_.hint = hint;
  parameters_.reset();
  publish_finished();
}

void director_state::publish_finished() {
  finished_ = true;
  exchange_->dismiss(tensor_kind::parameters, {});
  drafts_->clear();
  result_.history = history_;
  fill_in_figures();
  for (const auto& observer : observers_)
    self_->send(observer, result_);
}

caf::result<parameter_span> director_state::on_pull() const {
  if (!finished_ || !parameters_)
    return caf::make_error(protocol_error::not_finished);
  return parameter_span{term(), result_.version, 0, payload{*parameters_, 0, parameters_->size()}};
}

director_actor::behavior_type director(self_pointer<director_actor, director_state> self,
                                       const director_options& options) {
  guard(self);
  return self->state.make_behavior(options);
}

} // namespace troupe
