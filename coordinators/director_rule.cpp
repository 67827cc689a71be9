#include "troupe/coordinators/director_rule.hpp"

#include "troupe/models/tree_accumulator.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace troupe {

director_rule::director_rule(const director_rule_options& options)
  : options_(options), rule_(options.stop) {}

horizon_rule director_rule::horizon_after(uint64_t version) const {
  const auto last = options_.plan.last_version();
  const auto next = reads_results() ? options_.plan.next_evaluation(version) : last;
  return {next, next == last};
}

director_decisions director_rule::start() {
  if (interrupted_) {
    horizon_ = {0, true};
    director_decisions out{allow_up_to{horizon_}};
    finish(0, stop_reason::interrupt, out);
    return out;
  }
  horizon_ = horizon_after(0);
  return {allow_up_to{horizon_}};
}

director_decisions director_rule::on_trained(uint64_t version, const batch_sums& sums) {
  director_decisions out;
  if (last_row_ && version <= last_row_->version)
    return out;
  trained_.emplace(version, sums);
  complete_rows(out);
  return out;
}

director_decisions director_rule::on_evaluated(uint64_t version, size_t first_chunk,
                                               const std::vector<batch_sums>& sums) {
  director_decisions out;
  auto& chunks = evaluated_[version];
  for (size_t i = 0; i < sums.size(); ++i)
    chunks.emplace(first_chunk + i, sums[i]);
  complete_rows(out);
  return out;
}

director_decisions director_rule::on_held(size_t replica, uint64_t next_step) {
  director_decisions out;
  if (phase_ != phase::holding)
    return out;
  held_[replica] = next_step;
  if (held_.size() < options_.replica_count)
    return out;
  // Some replica may have sent its part of step next_step - 1; all others can still do theirs.
  uint64_t stop = 0;
  for (const auto& [index, step] : held_)
    stop = std::max(stop, step);
  interrupted_ = stop < horizon_.version || !horizon_.final;
  horizon_ = {stop, true};
  phase_ = phase::training;
  out.push_back(allow_up_to{horizon_});
  // A version that is complete already, or 0, brings no further report.
  if (stop == 0)
    finish(0, stop_reason::interrupt, out);
  else
    complete_rows(out);
  return out;
}

director_decisions director_rule::on_kept(uint64_t version) {
  director_decisions out;
  if (phase_ != phase::keeping || version != candidate_->version)
    return out;
  best_ = std::exchange(candidate_, std::nullopt);
  phase_ = phase::training;
  go_on_after(version, out);
  return out;
}

director_decisions director_rule::on_not_finite(const divergence& what) {
  director_decisions out;
  // Even when the end has been named: the shard that keeps the book may have reached a version that
  // another one could not.
  if (phase_ == phase::ending && what.step >= end_version_)
    return out;
  diverged_ = what;
  finish(what.step, stop_reason::diverged, out);
  return out;
}

director_decisions director_rule::on_stop_requested() {
  director_decisions out;
  if (phase_ == phase::keeping) // every replica waits at this version: it is the last
    interrupted_ = interrupted_ || !horizon_.final;
  if (phase_ != phase::training || interrupted_)
    return out;
  if (horizon_.version == 0) { // not started: nobody is there to answer
    interrupted_ = true;
    return out;
  }
  phase_ = phase::holding;
  held_.clear(); // answers to an earlier stop that came at the end anyway
  out.push_back(hold_replicas{});
  return out;
}

bool director_rule::evaluate(epoch_figures& row) const {
  const auto found = evaluated_.find(row.version);
  if (found == evaluated_.end() || found->second.size() < options_.rows.chunk_count())
    return false;
  tree_accumulator<batch_sums> test, validation;
  for (const auto& [chunk, part] : found->second)
    (chunk < options_.rows.test_chunk_count() ? test : validation).push(part);
  if (options_.rows.test > 0)
    row.test = test.total();
  if (options_.rows.validation > 0)
    row.validation = validation.total();
  return true;
}

bool director_rule::is_end(uint64_t version) const {
  return horizon_.final && version == horizon_.version;
}

bool director_rule::needs_evaluation(uint64_t version) const {
  return !options_.rows.empty() && (options_.plan.evaluates(version) || is_end(version));
}

void director_rule::complete_rows(director_decisions& out) {
  while (phase_ == phase::training && !trained_.empty()) {
    const auto [version, train] = *trained_.begin();
    epoch_figures row{version, train, std::nullopt, std::nullopt};
    if (needs_evaluation(version) && !evaluate(row))
      return; // chunks are still on their way
    trained_.erase(trained_.begin());
    evaluated_.erase(evaluated_.begin(), evaluated_.upper_bound(version));
    on_row(row, out);
  }
  if (phase_ == phase::training && last_row_ && is_end(last_row_->version))
    end_at_last_row(out);
}

void director_rule::end_at_last_row(director_decisions& out) {
  const bool evaluated = last_row_->test || last_row_->validation;
  if (needs_evaluation(last_row_->version) && !evaluated) {
    if (!evaluate(*last_row_))
      return;
    out.push_back(publish_row{*last_row_});
  }
  finish(last_row_->version, stop_reason::interrupt, out);
}

void director_rule::on_row(const epoch_figures& row, director_decisions& out) {
  last_row_ = row;
  out.push_back(publish_row{row});
  judge(row);
  if (!candidate_)
    return go_on_after(row.version, out);
  phase_ = phase::keeping;
  out.push_back(keep_version{row.version});
}

void director_rule::judge(const epoch_figures& row) {
  verdict_ = stop_reason::none;
  if (!reads_results() || !options_.plan.evaluates(row.version))
    return;
  const auto& watched = row.validation ? *row.validation : row.test ? *row.test : row.train;
  const auto loss = watched.loss_sum / static_cast<double>(watched.sample_count);
  verdict_ = rule_.observe(row.version, loss);
  const auto least = best_ ? best_->loss : std::numeric_limits<double>::infinity();
  if (options_.keep_best && loss < least) // a NaN is not the best
    candidate_ = {row.version, loss};
}

void director_rule::go_on_after(uint64_t version, director_decisions& out) {
  if (verdict_ != stop_reason::none)
    return finish(version, verdict_, out);
  if (version != horizon_.version)
    return;
  if (interrupted_)
    return finish(version, stop_reason::interrupt, out);
  if (horizon_.final)
    return finish(version, natural_end(), out);
  horizon_ = horizon_after(version);
  out.push_back(allow_up_to{horizon_});
}

stop_reason director_rule::natural_end() const {
  const auto& plan = options_.plan;
  const bool by_epochs = plan.last_version() == plan.version_after_epochs();
  return by_epochs ? stop_reason::epochs : stop_reason::steps;
}

void director_rule::finish(uint64_t version, stop_reason reason, director_decisions& out) {
  phase_ = phase::ending;
  end_version_ = version;
  out.push_back(finish_at{best_ ? best_->version : version, reason});
}

} // namespace troupe
