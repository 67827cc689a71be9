#include "actors/director/director.hpp"

#include "actors/run/explanation.hpp"
#include "actors/run/job_data.hpp"
#include "actors/run/private_run.hpp"
#include "actors/run/process.hpp"
#include "coordinators/job/private_job.hpp"
#include "coordinators/job/resolve.hpp"
#include "coordinators/job/training_modes.hpp"
#include "coordinators/parallel/grid.hpp"
#include "coordinators/step/placement.hpp"
#include "data/table/dataset.hpp"
#include "data/text/checksum.hpp"
#include "data/training_rows/holdings.hpp"
#include "models/base/arithmetic.hpp"
#include "models/whole_model/whole_model_rule.hpp"

#include <algorithm>
#include <chrono>
#include <set>

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
             [this](uint64_t version) { training.on_checkpoint(version); },
             [this] { return watch.stop_asked(); }}),
    membership(context, roster, watch, announcer, writes,
               {[this](const publish& news) { training.on_view(news); },
                [this] { training.finish_if_complete(); }, [this] { training.on_stop(true); }}),
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
  // A message with a damaged type: drop it, without a log line and without an end.
  context_.self->set_default_handler(caf::drop);
  auto& tensors = parts_->tensors;
  auto& membership = parts_->membership;
  auto& training = parts_->training;
  auto& announcer = parts_->announcer;
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
    [&](const node_report& news) {
      membership.on_report(news);
      training.stop_at_named(announcer.on_report_of(news.name));
    },
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
    [&](const hold_answer& news) { training.stop_at_named(announcer.on_held(news)); },
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

namespace {

/// Maximum links in an answer: people read it once a second.
constexpr size_t shown_links_max = 64;

double seconds_of(moment::duration time) {
  return std::chrono::duration<double>(time).count();
}

} // namespace

training_status run_status::status() const {
  const auto now = context_.now();
  const auto& plan = context_.options.rule.plan;
  const auto version = history_.version();
  training_status status;
  status.phase = phase_text();
  status.version = version;
  status.last_version = plan.last_version();
  status.epoch = version / plan.steps_in_epoch();
  status.epochs = plan.epoch_of(plan.last_version() - 1) + 1;
  status.seconds = context_.finished ? training_.result().seconds : context_.seconds_since_begin();
  status.steps_per_second = context_.finished ? 0 : history_.steps_per_second(now);
  status.samples_per_second = status.steps_per_second * static_cast<double>(plan.row_count) /
                              static_cast<double>(plan.steps_in_epoch());
  status.replicas = context_.view.replicas.size();
  status.shards = context_.view.shards.size();
  status.waits_for = waits_for(now);
  status.still = context_.begin && !context_.finished ? seconds_of(now - watch_.moved()) : 0;
  status.job_sha256 = context_.options.job_sha256;
  status.view = membership_.view_for_people();
  static_cast<recovery_figures&>(status) =
    context_.finished ? static_cast<recovery_figures>(training_.result()) : membership_.recovery();
  if (is_still(now))
    status.late = holding_up(roster_.heard(context_.view, now));
  const auto& listed = context_.options.membership.expected;
  for (const auto& node : listed)
    status.nodes.push_back(status_of(node, now));
  for (const auto& [name, link] : context_.links)
    if (std::ranges::find(listed, name, &expected_member::name) == listed.end())
      status.nodes.push_back(status_of({name, link.who.replica_count, link.who.shard_count}, now));
  status.figures = roster_.figures(context_.view, context_.options.membership.split);
  status.writes_for = seconds_of(writes_.silence(now));
  status.stranger = roster_.trouble_of({}, now);
  if (!context_.options.hides_work) {
    status.links = roster_.links().figures(now, shown_links_max);
    if (const auto slow = roster_.pace().slow(); slow && !context_.finished)
      status.slow = {*slow};
  }
  if (const auto& clients = context_.options.here.clients)
    status.clients = clients();
  fill_in_results(status);
  return status;
}

// The figures that people ask for most: how well the model learns, and how long training takes.
void run_status::fill_in_results(training_status& status) const {
  const auto& last = context_.last_progress;
  if (last.steps_in_epoch > 0) { // training has made progress
    status.train_loss = last.train_loss;
    status.train_accuracy = last.train_accuracy;
  }
  if (!history_.rows().empty())
    status.newest_row = {history_.rows().back()};
  if (context_.finished)
    return;
  status.learning_rate = history_.rate_at(status.version);
  if (status.steps_per_second > 0)
    status.seconds_left =
      static_cast<double>(status.last_version - std::min(status.version, status.last_version)) /
      status.steps_per_second;
}

std::string run_status::phase_text() const {
  const auto state = training_.state();
  const bool is_training =
    state == director_rule::phase::training || state == director_rule::phase::keeping;
  return training_.result().failed                                ? "failed"
         : context_.finished                                      ? "finished"
         : membership_.waiting() || context_.view.members.empty() ? "waiting"
         : is_training                                            ? "training"
                                                                  : "stopping";
}

node_status run_status::status_of(const expected_member& node, moment now) const {
  node_status result;
  result.name = node.name;
  result.is_director = node.name == context_.options.membership.home;
  result.replicas = node.replica_count;
  result.shards = node.shard_count;
  const auto way = context_.links.find(node.name);
  result.is_linked = way != context_.links.end();
  if (!result.is_linked)
    result.trouble = roster_.trouble_of(node.name, now);
  if (const auto* last = roster_.find(node.name)) {
    result.version = last->news.held;
    result.shard_versions = last->news.shard_versions;
    result.waits = last->news.waits;
    result.silence = seconds_of(now - last->at);
    for (const auto& replica : last->news.replicas)
      result.samples += replica.sample_count;
    result.wire = last->news.wire;
    result.pieces = last->news.work.pieces;
    result.late = seconds_of(last->news.work.late);
    if (context_.options.hides_work) {
      result.samples = 0;
      result.wire = {};
      result.pieces.clear();
      result.late = 0;
    }
  }
  const auto& view = context_.view;
  const auto place = view.find(node.name);
  if (!place || !result.is_linked)
    return result;
  result.takes_part = view.members[*place].incarnation == way->second.who.incarnation;
  result.replicas = view.members[*place].replica_count;
  result.shards = view.members[*place].shard_count;
  const auto& split = context_.options.membership.split;
  std::set<index_range> slices; // a group's slices count once
  for (const auto& replica : view.replicas) {
    if (replica.member != *place)
      continue;
    if (slices.insert(replica.slices).second)
      result.slices += replica.slices.size();
    if (split.splits())
      result.partitions.push_back(partition_text(replica.work(), split));
  }
  for (const auto& shard : view.shards)
    result.spans += shard.member == *place && !shard.blocks.empty() ? 1 : 0;
  return result;
}

// The processes that the run waits for, by name, as far as reports show them.
std::string run_status::waits_for(moment now) const {
  if (context_.finished)
    return {};
  if (!context_.begin)
    return "begin";
  if (writes_.is_writing_term())
    return std::string{term_to_be_written};
  if (const auto& waiting = membership_.waiting())
    return waiting->reason;
  if (const auto late = holding_up(roster_.heard(context_.view, now));
      is_still(now) && !late.empty())
    return waiting_text(late);
  const bool is_ending = training_.state() == director_rule::phase::ending;
  if (tensors_.is_behind() || (is_ending && writes_.is_writing()))
    return std::string{checkpoint_to_be_written};
  switch (training_.state()) {
  case director_rule::phase::training:
    if (const auto& clients = context_.options.here.clients)
      return awaited_of(clients());
    return "step " + std::to_string(history_.version());
  case director_rule::phase::holding:
    return "replicas to finish their step";
  case director_rule::phase::keeping:
    return "the parameters of the best version";
  case director_rule::phase::ending:
    return "the result and what everybody did";
  }
  return {};
}

bool run_status::is_still(moment now) const {
  return context_.begin && !context_.finished && watch_.is_still(now);
}

current_wait run_status::wait(moment now) const {
  if (const auto& waiting = membership_.waiting(); waiting && !writes_.is_writing_term()) {
    const auto left = waiting->since + context_.options.membership.join_timeout - now;
    return {waiting->reason, waiting->since,
            joining_text(waiting->names, std::chrono::duration_cast<milliseconds>(left)) +
              (waiting->need.empty() ? "" : ": " + waiting->need)};
  }
  const auto late = holding_up(roster_.heard(context_.view, now));
  if (late.empty() || writes_.is_writing_term())
    return {phase_text(), watch_.moved(), "waiting for " + waits_for(now)};
  std::string who;
  for (const auto& x : late)
    who += x.name + ' ';
  return {who, watch_.moved(), waiting_text(late)};
}

director_options director_options_of(const job& resolved, const prepared_data& data,
                                     const model& network) {
  const auto shape = shape_of(data);
  director_options options;
  options.rule.plan = timeline_of(resolved, shape);
  options.rule.stop = resolved.training;
  options.rule.plateau = resolved.optimizer.plateau;
  options.rule.rows = shape.evaluated();
  options.rule.watch = resolved.training.watch;
  options.rule.keep_best = *resolved.training.keep_best;
  options.rule.checkpoint_every = resolved.checkpoint.every_steps;
  options.rule.hashed_blocks = block_count(network.layout().size());
  options.membership.slice_count = *resolved.training.slices;
  options.membership.holders = holders_of(shape, options.rule.plan);
  options.membership.parameter_count = network.layout().size();
  options.membership.has_one_owner =
    scope_of(resolved.optimizer.kind) == optimizer_scope::whole_model &&
    !make_whole_model_rule(resolved.optimizer, network.layout())->sum_count();
  options.membership.copies = {copies_spans(resolved) ? size_t{1} : 0, 0,
                               slot_count_of(resolved, network.layout()), copies_spans(resolved)};
  options.membership.split = split_of(resolved, network.chain());
  options.optimizer = resolved.optimizer;
  options.classification = shape.classification;
  options.metrics = std::make_shared<const metric_set>(metrics_of(resolved, shape));
  options.test_total_squares = total_squares(data, row_part::test);
  options.validation_total_squares = total_squares(data, row_part::validation);
  options.parameter_count = network.layout().size();
  options.slot_count = slot_count_of(resolved, network.layout());
  const auto identity = identity_of(resolved, data);
  options.job_sha256 = sha256_hex(std::as_bytes(std::span{identity}));
  options.hides_work = is_private(resolved);
  options.arithmetic = arithmetic_name;
  return options;
}

} // namespace troupe
