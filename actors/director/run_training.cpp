#include "actors/director/run_training.hpp"

#include "data/records/history_figures.hpp"

#include <algorithm>
#include <limits>
#include <utility>
#include <variant>

namespace troupe {

namespace {

/// The figure that the rule watches: of validation rows, else test rows, else of training.
history_figure figure_watched(const director_rule_options& x) {
  auto watch = x.watch;
  std::ranges::replace(watch, '-', '_');
  return figure_named((x.rows.validation.row_count() > 0 ? "validation_"
                       : x.rows.test.row_count() > 0     ? "test_"
                                                         : "train_") +
                      watch);
}

/// A row's figure, negative where more of it is better; nothing if the row lacks it.
std::optional<double> watched_of(const history_row& row, const history_figure& figure) {
  const auto value = figure.in(row);
  return value && figure.more_is_better.value_or(false) ? -*value : value;
}

/// The loss of a row is what its sums say; other figures are those of the history.
watched_figure watch_by(const run_history& history, const director_rule_options& options) {
  if (options.watch == "loss")
    return {};
  return [&history, figure = figure_watched(options)](const epoch_figures& row) {
    return watched_of(history.row_of(row, 0), figure)
      .value_or(std::numeric_limits<double>::quiet_NaN());
  };
}

/// What a rule of results has seen, as the history has it; nothing where none is asked.
std::vector<seen_result> seen_by(result_rule rule, uint64_t version, const checkpoint& x,
                                 const director_rule_options& options) {
  std::vector<seen_result> result;
  if (!is_added(rule))
    return result;
  for (const auto& row : x.history) {
    const bool is_judged = options.rows.empty() || row.test_loss || row.validation_loss;
    if (row.steps >= version && is_judged && options.plan.schedules_evaluation(row.steps))
      result.push_back({row.steps, watched_of(row, figure_watched(options))
                                     .value_or(std::numeric_limits<double>::quiet_NaN())});
  }
  return result;
}

director_memory memory_of(const checkpoint& x, const director_rule_options& options) {
  director_memory memory;
  memory.version = x.version;
  if (!x.history.empty()) {
    const auto& row = x.history.back();
    memory.last_row = epoch_figures{row.steps, {}, std::nullopt, std::nullopt};
    if (row.steps == x.version && options.plan.evaluates(row.steps))
      memory.last_loss = watched_of(row, figure_watched(options));
  }
  memory.stop = stop_rule{options.stop, x.stop.best_loss, x.stop.best_version,
                          static_cast<size_t>(x.stop.waited)};
  memory.stop.recall(seen_by(options.stop.rule, 0, x, options));
  stop_rule watch{
    {}, x.plateau.best_loss, x.plateau.best_version, static_cast<size_t>(x.plateau.waited)};
  watch.recall(
    seen_by(options.plateau.rule, x.reductions.empty() ? 0 : x.reductions.back() + 1, x, options));
  memory.plateau = {options.plateau, watch, x.reductions};
  if (x.best_parameters)
    memory.best = best_version{x.best_version, x.best_loss};
  return memory;
}

stop_rule_memory memory_of(const stop_rule& x) {
  return {x.best_loss(), x.best_version(), x.evaluations_without_improvement()};
}

/// The failure that ends the run at once; nothing for a spent budget, the end of a record, or a value that is not finite.
std::optional<failure> failure_of(const not_finite_report& news) {
  const auto what = "at step " + std::to_string(news.step) + " " + news.what;
  const auto whom = "replica " + std::to_string(news.replica);
  switch (news.problem) {
  case step_problem::malformed:
    return failure{failure_code::internal,
                   what + " came" + (news.has_slice ? " from " + whom : "") +
                     " and was not applied",
                   {},
                   "please report this"};
  case step_problem::conflict:
    return failure{failure_code::internal,
                   "equal work gave different bits: " + what + ", the second from " + whom +
                     "; a machine computes wrongly, or differs from the others"};
  case step_problem::unsolvable:
    return failure{failure_code::bad_data,
                   news.what,
                   {},
                   "leave such features out, or set optimizer.l2 (closed-form) or "
                   "optimizer.damping (gauss-newton) to a small number"};
  case step_problem::abandoned:
    return failure{failure_code::unavailable, news.what, "federated.min_count",
                   "lower it, or set federated.over_selection"};
  case step_problem::unrecorded:
    return failure{
      failure_code::io_error, news.what, {}, "see to the disk and the file, and use --resume"};
  case step_problem::differs:
    return failure{failure_code::mismatch,
                   news.what,
                   {},
                   "repeat a run with its own job, and the rows that its clients had"};
  case step_problem::left_out:
    return failure{
      failure_code::bad_data,
      news.what,
      {},
      "look for what the replicas said last; leave such rows out, or set runtime.attempts"};
  case step_problem::spent:
  case step_problem::record_ends:
  case step_problem::not_finite:
    break;
  }
  return std::nullopt;
}

divergence divergence_of(const not_finite_report& news) {
  divergence result{news.step, news.what, std::nullopt};
  if (news.has_slice) {
    result.slice = news.slice;
    result.what += " (computed by replica " + std::to_string(news.replica) + ")";
  }
  return result;
}

} // namespace

run_training::run_training(director_context& context, run_history& history,
                           const process_roster& roster, run_watch& watch, run_announcer& announcer,
                           const run_writes& writes, run_tensors& tensors,
                           run_membership& membership)
  : context_(context),
    history_(history),
    roster_(roster),
    watch_(watch),
    announcer_(announcer),
    writes_(writes),
    tensors_(tensors),
    membership_(membership),
    rule_(context.options.rule, watch_by(history, context.options.rule)),
    past_(context.options.rule.plan) {
  if (const auto& last = tensors_.last_checkpoint())
    announcer_.set_checkpoint(last->version);
}

// ---- Events ----

void run_training::on_report(const training_report& news) {
  if (news.term != context_.term() || context_.finished ||
      news.version > context_.options.rule.plan.last_version())
    return;
  if (history_.on_report(news, context_.now()))
    watch_.on_version(context_.now());
  if (news.is_row)
    carry_out(rule_.on_trained(news.version, news.sums));
  else if (news.sums.sample_count > 0)
    context_.show(history_.progress_at(news.version, news.sums, context_.seconds_since_begin()));
  if (news.is_mark)
    carry_out(rule_.on_marked(news.version));
  if (!news.notice.empty())
    context_.tell(news.notice);
}

void run_training::on_evaluation(const evaluation& news) {
  if (news.term == context_.term() && !context_.finished && history_.on_evaluation(news))
    carry_out(rule_.on_evaluated(news.version, news.first_chunk, news.chunks));
}

void run_training::on_hash(const span_hash& news) {
  if (news.term == context_.term() && !context_.finished && history_.on_hash(news))
    carry_out(rule_.on_hashed(news.version));
}

void run_training::on_not_finite(const not_finite_report& news) {
  if (news.term != context_.term() || context_.finished)
    return;
  if (news.problem == step_problem::spent)
    return carry_out(rule_.on_stop_named(news.step, stop_reason::epsilon));
  if (news.problem == step_problem::record_ends)
    return carry_out(rule_.on_stop_named(news.step, stop_reason::record));
  if (const auto problem = failure_of(news))
    return fail(*problem);
  carry_out(rule_.on_not_finite(divergence_of(news)));
}

void run_training::on_stop(bool is_cut) {
  if (is_cut && (context_.finished || watch_.stop_asked()))
    return;
  if (!is_cut)
    watch_.on_stop(context_.now());
  if (!context_.finished)
    carry_out(is_cut ? rule_.on_cut_requested() : rule_.on_stop_requested());
}

void run_training::stop_at_named(run_announcer::named_version version) {
  if (!version || context_.finished)
    return;
  if (rule_.state() == director_rule::phase::ending) // shards wait for the hold to end
    return announcer_.allow(horizon_rule{announcer_.horizon()});
  carry_out(rule_.on_stop_named(*version));
}

void run_training::on_view(const publish& news) {
  if (news.restarts && ends_without_checkpoint(news.reason))
    return;
  if (news.restarts)
    begin_term();
  else
    announcer_.send_directive();
  stop_at_named(announcer_.on_view());
}

// Within one process `parameters` refers to the buffers of that version; else it may be a file.
void run_training::on_fetched(uint64_t version, const stored_tensor& parameters) {
  if (end_.is_named()) {
    end_.set_parameters(end_.is_of(rule_.kept()) ? best_parameters_ : parameters);
    return finish_if_complete();
  }
  best_parameters_ = parameters;
  carry_out(rule_.on_kept(version));
}

void run_training::on_checkpoint(uint64_t version) {
  announcer_.set_checkpoint(version);
  membership_.on_restarts(version, past_.versions());
  if (!tensors_.is_behind())
    announcer_.allow_what_waits();
}

// Asks for tensors before figures, so that a process's traffic figures include what it has sent.
void run_training::tick(moment now) {
  tensors_.tick(now);
  if (end_.is_named())
    announcer_.ask_for_counts(now);
}

// ---- Terms ----

// Undoes everything since the checkpoint. Messages still in flight are of an earlier term, or right.
void run_training::begin_term() {
  end_.begin_term();
  watch_.on_end(false);
  announcer_.begin_term();
  tensors_.begin_term();
  best_parameters_ = {};
  if (const auto start = context_.view.start_version; !context_.view.holders.empty()) {
    history_.return_to(start);
    const auto past = past_.return_to(start);
    const auto& options = context_.options.rule;
    rule_ = director_rule{options, past.memory, watch_by(history_, options)};
    if (rule_.kept())
      best_parameters_ = past.best_parameters;
    if (context_.view.copy_every == 0)
      past_.clear();
  } else {
    past_.clear();
    history_.begin(context_.view.start_version);
    if (context_.view.start_version > 0)
      recall_checkpoint();
    else
      rule_ = director_rule{context_.options.rule, watch_by(history_, context_.options.rule)};
  }
  membership_.on_restarts(0, past_.versions()); // undone rows are not complete any more
  if (watch_.stop_asked())                      // then the end is here
    carry_out(rule_.on_stop_requested());
  carry_out(rule_.start());
}

void run_training::recall_checkpoint() {
  const auto& last = *tensors_.last_checkpoint();
  history_.recall(last);
  const auto& options = context_.options.rule;
  rule_ = director_rule{options, memory_of(last, options), watch_by(history_, options)};
  if (rule_.kept())
    best_parameters_ = last.best_parameters;
}

// ---- Decisions ----

void run_training::carry_out(const director_decisions& decisions) {
  announcer_.set_rows(rule_.row_version());
  for (const auto& decision : decisions)
    std::visit([this](const auto& x) { carry_out(x); }, decision);
  // A cut is at most two copies behind the newest version. While parameters are being kept the row is not complete.
  const auto reach = 2 * context_.view.copy_every + 1;
  const auto row = rule_.row_version();
  if (context_.view.copy_every > 0 && rule_.state() == director_rule::phase::training &&
      past_.add({rule_.memory(row), best_parameters_}, row, reach))
    membership_.on_restarts(0, past_.versions());
}

// Where training is faster than the disk, it waits at the next checkpoint; else checkpoints would pile up. The last
// horizon goes out at once: shards copy its version when they know that it is the last.
void run_training::carry_out(const allow_up_to& decision) {
  history_.set_reductions(decision.horizon.reductions);
  if (tensors_.is_behind() && !decision.horizon.final)
    announcer_.allow_later(decision.horizon);
  else
    announcer_.allow(decision.horizon);
}

void run_training::carry_out(const publish_row& decision) {
  context_.show(history_.add_row(decision.figures, context_.seconds_since_begin()));
}

void run_training::carry_out(const begin_anew_at& decision) {
  const auto row = rule_.row_version();
  past_.add({rule_.memory(row), best_parameters_}, row,
            std::max(2 * context_.view.copy_every + 1, decision.version - row));
  membership_.on_restarts(0, past_.versions());
  membership_.on_cut(decision.version);
}

void run_training::carry_out(const take_checkpoint& decision) {
  if (!tensors_.is_checkpointed(decision.version))
    return;
  const auto memory = rule_.memory(decision.version);
  checkpoint x;
  x.job_sha256 = context_.options.job_sha256;
  x.arithmetic = context_.options.arithmetic;
  x.version = decision.version;
  x.term = context_.term();
  x.recovery = membership_.recovery();
  x.stop = memory_of(memory.stop);
  x.plateau = memory_of(memory.plateau.watch());
  x.reductions = memory.plateau.reductions();
  if (memory.best) {
    x.best_parameters = best_parameters_;
    x.best_version = memory.best->version;
    x.best_loss = memory.best->loss;
  }
  x.history = history_.rows();
  history_.keep_rows_of_undisturbed_run(x);
  x.seconds = history_.seconds_at(decision.version, context_.seconds_since_begin());
  for (const auto& work : roster_.work_of_replicas(context_.view))
    x.replicas.push_back({work.steps_executed, work.sample_count});
  tensors_.draft(std::move(x));
}

// Every shard has reached a version whose rows were evaluated. Otherwise all shards are asked for the end version, even
// if the best one is kept: a shard that cannot reach it reports that before the end. A shard that met a bad value goes
// no further, so later checkpoints are dropped.
void run_training::carry_out(const finish_at& decision) {
  const auto end = rule_.end_version();
  history_.cut_after(end);
  end_.name(decision, rule_,
            end == 0 ? 0 : history_.seconds_at(end, context_.seconds_since_begin()));
  watch_.on_end(true);
  tensors_.drop_drafts_from(end + 1);
  if (end_.is_of(rule_.kept()) && !context_.options.rule.rows.empty())
    end_.set_parameters(best_parameters_);
  fetch(end);
}

// At the end processes without a span are asked, too, for the figures of their replicas.
void run_training::fetch(uint64_t version) {
  announcer_.count_anew();
  tensors_.stop_fetching();
  if (!end_.parameters())
    tensors_.fetch(version);
  tick(context_.now());
}

// ---- The end ----

void run_training::finish_if_complete() {
  if (!writes_.is_idle())
    return;
  if (context_.finished) {
    if (!std::exchange(has_reported_result_, true))
      context_.send_to_observers(end_.result());
    return;
  }
  if (end_.is_named() && end_.parameters() &&
      roster_.has_counted(context_.view, announcer_.round()) && !tensors_.is_awaiting())
    finish();
}

void run_training::end_at_checkpoint(const std::string& why) {
  if (writes_.is_writing())
    return;
  if (ends_without_checkpoint(why))
    return;
  const auto& last = tensors_.last_checkpoint();
  if (!last)
    return fail({failure_code::interrupted,
                 (history_.version() == 0 ? "stopped before training began: "
                                          : "stopped without a checkpoint to end at: ") +
                   why});
  recall_checkpoint();
  end_.end_at(*last, rule_.kept());
  context_.tell("stopped at the last checkpoint, version " + std::to_string(last->version) + ": " +
                why);
  finish();
}

bool run_training::ends_without_checkpoint(const std::string& why) {
  const bool has_result = end_.is_named() && end_.parameters();
  if (context_.finished || !has_result || !watch_.stop_asked() || !tensors_.is_awaiting())
    return false;
  tensors_.give_up_checkpoints(why);
  finish();
  return true;
}

void run_training::fail(const failure& why) {
  if (context_.finished)
    return;
  end_.fail(why);
  finish();
}

void run_training::finish() {
  context_.finished = true;
  tensors_.stop_fetching();
  tensors_.drop_drafts_from(0);
  auto& result = end_.result();
  result.history = history_.rows();
  result.reductions = history_.reductions();
  static_cast<recovery_figures&>(result) = membership_.recovery();
  roster_.fill_in(result, context_.view, context_.options.membership);
  finish_if_complete();
}

caf::result<trained_model> run_training::pull() const {
  const auto& values = end_.parameters();
  if (!context_.finished || !values)
    return caf::make_error(protocol_error::not_finished);
  return trained_model{result().version, *values};
}

namespace {

std::string problem_text(const director_rule& rule) {
  const auto& diverged = rule.diverged();
  if (!diverged)
    return {};
  const auto step = std::to_string(diverged->step);
  const auto& best = rule.best();
  return "training diverged: at step " + step + " " + diverged->what +
         " was not finite and was not applied; the parameters of version " +
         (best ? std::to_string(best->version) + ", the best one," : step) + " are kept";
}

} // namespace

void run_end::begin_term() {
  is_named_ = false;
  parameters_.reset();
}

void run_end::name(const finish_at& decision, const director_rule& rule, double seconds) {
  is_named_ = true;
  parameters_.reset();
  result_.version = decision.version;
  result_.is_best = rule.best().has_value();
  result_.reason = static_cast<uint8_t>(decision.reason);
  result_.end_version = rule.end_version();
  result_.seconds = seconds;
  result_.problem = problem_text(rule);
}

void run_end::end_at(const checkpoint& last, const std::optional<best_version>& kept) {
  result_.end_version = last.version;
  result_.version = kept ? kept->version : last.version;
  result_.is_best = kept.has_value();
  result_.reason = static_cast<uint8_t>(stop_reason::interrupt);
  result_.seconds = last.seconds;
  parameters_ = kept ? last.best_parameters : last.parameters;
}

void run_end::fail(const failure& why) {
  result_.failed = true;
  result_.failure = static_cast<uint8_t>(why.code());
  result_.problem = why.reason();
  result_.where = why.where();
  result_.hint = why.hint();
  parameters_.reset();
}

bool run_end::is_of(const std::optional<best_version>& kept) const {
  return kept && kept->version == result_.version;
}

} // namespace troupe
