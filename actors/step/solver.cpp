#include "actors/step/solver.hpp"

#include "actors/base/job_rows.hpp"
#include "actors/base/version_buffers.hpp"
#include "models/base/copy_values.hpp"
#include "models/losses/row_losses.hpp"
#include "models/math/lanes.hpp"
#include "models/math/tree_accumulator.hpp"
#include "models/solvers/least_squares.hpp"

#include <algorithm>
#include <stdexcept>

namespace troupe {

namespace {

std::string in_words(const dependent_column& problem,
                     const std::vector<std::string>& feature_names) {
  return "least squares has no single solution: feature '" + feature_names.at(problem.column()) +
         "' is constant or follows from the features before it";
}

} // namespace

solver_actor::behavior_type solver_state::make_behavior(const solver_options& options) {
  options_ = options;
  return {
    [this](const view& news) { on_view(news); },
    [this](const horizon& news) { on_horizon(news); },
    [this](atom::hold, uint64_t round) { on_hold(round); },
    [this](atom::status) { return status_; },
    [this](atom::begin) { advance(); },
    [this](const shard_start& news) { on_start(news); },
    [this](atom::pull, uint64_t version) { return on_pull(version); },
    [](atom::figures) { return trainer_figures{}; },
  };
}

void solver_state::on_start(const shard_start& news) {
  versions_ = news.versions;
}

// The view comes twice: first to the solver as replica, then, after `shard_start`, as shard.
void solver_state::on_view(const view& news) {
  if (rule_ || !versions_)
    return;
  view_ = news;
  current_ = versions_->of(news.start_version);
  rule_.emplace(options_.plan, 1, news.start_version);
  rule_->announce(news.start_version, 0);
  begin_ = std::chrono::steady_clock::now();
}

void solver_state::on_horizon(const horizon& news) {
  if (!rule_)
    return;
  rule_->set_horizon(news.rule);
  advance();
}

void solver_state::on_hold(uint64_t round) {
  self_->send(view_.relay, atom::held_v, uint64_t{0}, round, rule_ ? rule_->hold() : 0);
}

void solver_state::advance() {
  if (failed_)
    return;
  auto action = rule_->next();
  if (action == replica_rule::action::evaluate) {
    evaluate();
    action = rule_->next();
  }
  if (action == replica_rule::action::compute)
    step();
}

void solver_state::evaluate() {
  evaluation result{view_.term, rule_->version(), 0, {}};
  for (const auto& rows : {options_.rows.test, options_.rows.validation})
    evaluate_chunks(*rows, options_.metrics, result);
  if (!result.chunks.empty())
    self_->send(view_.director, std::move(result));
}

void solver_state::evaluate_chunks(const row_source& rows, const metric_set& metrics,
                                   evaluation& out) {
  for (size_t chunk = 0; chunk < evaluation_chunk_count(rows.row_count()); ++chunk) {
    const auto range = evaluation_chunk(rows.row_count(), chunk);
    add_chunk(out, *options_.network, metrics, current_.values(),
              rows.range(range.begin, range.size(), reader_), memory_);
  }
}

void solver_state::step() {
  buffer next{current_.size()};
  try {
    solve(next.values());
  } catch (const dependent_column& problem) {
    return stop_here(in_words(problem, options_.feature_names), true);
  } catch (const std::invalid_argument& problem) {
    return stop_here(problem.what(), true);
  }
  if (!all_finite(next.values().data(), next.size()))
    return stop_here("the parameters that the step leads to", false);
  adopt(next);
}

void solver_state::solve(std::span<float> next) {
  auto rows = options_.rows.train->range(0, options_.rows.train->row_count(), reader_);
  const auto feature_count = rows.features.size() / rows.row_count;
  const auto target_count = rows.targets.size() / rows.row_count;
  if (options_.optimizer.kind == optimizer_kind::gauss_newton) {
    gauss_newton_step(*options_.network, {*options_.optimizer.damping}, rows, current_.values(),
                      next, memory_);
    return;
  }
  least_squares_options options;
  options.bias = options_.network->layout().size() > feature_count * target_count;
  // A sample's loss is the mean over its targets; the penalty is l2/2 beside the mean loss.
  options.penalty = options_.optimizer.l2 / 2 * static_cast<double>(rows.row_count) *
                    static_cast<double>(target_count);
  std::vector<float> room;
  rows.targets = detail::compared_targets(options_.network->loss_with_constants().scale,
                                          rows.targets, target_count, room);
  copy_values(least_squares(rows, feature_count, target_count, options), next.begin());
}

void solver_state::adopt(const const_buffer& next) {
  previous_ = current_;
  current_ = next;
  const auto version = rule_->version() + 1;
  rule_->announce(version, 0);
  evaluation judged;
  evaluate_chunks(*options_.rows.train, {}, judged);
  tree_accumulator<batch_sums> sums;
  for (const auto& part : judged.chunks)
    sums.push(part);
  status_.version = version;
  status_.sample_count += sums.total().sample_count;
  ++status_.steps_executed;
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin_;
  self_->send(view_.director, whole_hash(view_.term, version, current_));
  self_->send(view_.director,
              training_report{view_.term, version, sums.total(), true, true, seconds.count(), {}});
  self_->send(self_, atom::begin_v);
}

void solver_state::stop_here(const std::string& what, bool unsolvable) {
  failed_ = true;
  not_finite_report report;
  report.term = view_.term;
  report.step = rule_->version();
  report.what = what;
  report.problem = unsolvable ? step_problem::unsolvable : step_problem::not_finite;
  self_->send(view_.director, std::move(report));
}

caf::result<parameter_span> solver_state::on_pull(uint64_t version) const {
  if (rule_ && version == status_.version)
    return parameter_span{view_.term, version, 0, payload{current_, 0, current_.size()}};
  if (previous_ && version + 1 == status_.version)
    return parameter_span{view_.term, version, 0, payload{previous_, 0, previous_.size()}};
  return caf::make_error(protocol_error::version_not_held, version);
}

solver_actor::behavior_type solver(self_pointer<solver_actor, solver_state> self,
                                   const solver_options& options) {
  guard(self);
  return self->state.make_behavior(options);
}

} // namespace troupe
