#include "actors/director/director.hpp"

namespace troupe {

void run_supervisor::tick(moment now) {
  if (writes_.is_writing())
    watch_.on_work(now);
  for (const auto& one : watch_.look_for_hung(roster_, context_.view, now))
    if (!context_.finished)
      take_out(one);
  see_to_standstill(now);
  see_to_stop(now);
  see_to_waits(now);
}

void run_supervisor::take_out(const hung_process& one) {
  if (one.who != context_.options.membership.home) {
    watch_.on_work(context_.now());
    return membership_.take_out(one);
  }
  if (watch_.stop_asked())
    return training_.end_at_checkpoint("this process hangs: " + one.why);
  training_.fail({failure_code::internal,
                  "this process hangs: " + one.why,
                  {},
                  "go on from the last checkpoint with --resume"});
}

void run_supervisor::see_to_standstill(moment now) {
  const auto version = history_.version();
  if (context_.finished || membership_.waiting() || !watch_.stands_still(version, now))
    return;
  const auto who = status_.wait(now).text;
  if (watch_.stop_asked())
    return training_.end_at_checkpoint("nothing moved and nobody worked; " + who);
  if (watch_.has_stood_too_often())
    return training_.fail(
      {failure_code::internal,
       "training stands still at version " + std::to_string(version) + ": " + who,
       {},
       "please report this; go on from the last checkpoint with --resume"});
  membership_.on_standstill("nothing moved for " + time_text(watch_.patience()) +
                            " and nobody worked (" + who + ")");
}

void run_supervisor::see_to_stop(moment now) {
  const auto& waiting = membership_.waiting();
  if (!context_.finished && waiting && watch_.is_stop_due(waiting->since, now))
    training_.end_at_checkpoint(waiting->reason);
}

void run_supervisor::see_to_waits(moment now) {
  if (context_.finished)
    return;
  const bool lacks_somebody = membership_.waiting() && !writes_.is_writing_term();
  if (!lacks_somebody && watch_.moved_lately(now)) {
    if (const auto lasted = watch_.wait_over(now))
      context_.tell("the wait is over, after " + time_text(*lasted));
    return;
  }
  if (!lacks_somebody && watch_.is_long_step(roster_))
    return;
  const auto found = status_.wait(now);
  if (watch_.is_wait_due(found.who, found.since, now))
    context_.tell(found.text);
}

director_state::parts::parts(director_context& context)
  : history(context.options),
    watch(context.options.membership),
    announcer(context, roster),
    writes(context, [this] { training.finish_if_complete(); }),
    tensors(context, announcer, writes,
            {[this](uint64_t version, const stored_tensor& parameters) {
               training.on_fetched(version, parameters);
             },
             [this](uint64_t version) { training.on_checkpoint(version); }}),
    membership(context, roster, watch, announcer, writes,
               {[this](const publish& news) { training.on_view(news); },
                [this] { training.finish_if_complete(); }}),
    training(context, history, roster, watch, announcer, writes, tensors, membership),
    status(context, history, roster, watch, writes, tensors, membership, training),
    supervisor(context, history, roster, watch, writes, membership, training, status) {}

director_actor::behavior_type director_state::make_behavior(const director_options& options) {
  context_.options = options;
  context_.options.rule.waits_for_rows = !context_.is_alone() && !options.rule.rows.empty();
  context_.exchange = {speaking_director(), options.exchange};
  context_.exchange.record(context_.is_alone() ? nullptr : options.trace);
  context_.fail = [this](const failure& why) { parts_->training.fail(why); };
  parts_ = std::make_unique<parts>(context_);
  // A type that was damaged on a wire: nobody prints, nobody ends.
  context_.self->set_default_handler(caf::drop);
  auto& tensors = parts_->tensors;
  auto& membership = parts_->membership;
  auto& training = parts_->training;
  context_.self->set_down_handler([&](const caf::down_msg& news) { membership.on_down(news); });
  context_.self->delayed_send(context_.self, director_tick_interval, atom::tick_v);
  return {
    [this](atom::status) { return parts_->status.status(); },
    [this](atom::watch, const observer_actor& observer) { on_watch(observer); },
    [&](atom::stop) { training.on_stop(); },
    [this](atom::begin) { on_begin(); },
    [&](const member& who, const node_actor& way) { membership.on_member(who, way); },
    [this](const std::string& who, const std::string& why) {
      parts_->roster.on_trouble(who, why, context_.now());
    },
    [&](const node_report& news) { membership.on_report(news); },
    [&](const training_report& news) { training.on_report(news); },
    [&](const evaluation& news) { training.on_evaluation(news); },
    [&](const span_hash& news) { training.on_hash(news); },
    [&](const not_finite_report& news) { training.on_not_finite(news); },
    [this, &tensors](const sent_piece& news) {
      if (tensors.on_piece(news))
        parts_->watch.on_work(context_.now());
    },
    [&](const sent_want& news) { tensors.on_want(news); },
    [&](const sent_credit& news) { tensors.on_credit(news); },
    [&](const sent_stamp& news) { tensors.on_stamp(news); },
    [&](const shard_numbers& news) { tensors.on_numbers(news); },
    [&](const hold_answer& news) { training.on_held(news); },
    [&](atom::pull) { return training.pull(); },
    [this](atom::tick) { on_tick(); },
  };
}

void director_state::on_begin() {
  if (context_.begin)
    return;
  context_.begin = context_.now();
  parts_->watch.begin(*context_.begin);
  const auto& last = parts_->tensors.last_checkpoint();
  parts_->membership.begin(last ? last->version : 0);
}

void director_state::on_watch(const observer_actor& observer) {
  if (parts_->training.has_reported_result())
    context_.self->send(observer, parts_->training.result());
  else
    context_.observers.push_back(observer);
}

void director_state::on_tick() {
  context_.self->delayed_send(context_.self, director_tick_interval, atom::tick_v);
  if (!parts_->membership.has_begun() || context_.finished)
    return;
  const auto now = context_.now();
  parts_->membership.tick(now);
  parts_->supervisor.tick(now);
  parts_->training.tick(now);
  parts_->announcer.tick(now);
}

director_actor::behavior_type director(self_pointer<director_actor, director_state> self,
                                       const director_options& options) {
  guard(self);
  return self->state.make_behavior(options);
}

} // namespace troupe
