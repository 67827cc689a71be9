#include "coordinators/run/director_rule.hpp"

#include "coordinators/step/checkpoint_rule.hpp"
#include "models/math/tree_accumulator.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace troupe {

namespace {

stop_reason natural_end(const timeline& plan) {
  const bool by_epochs = plan.last_version() == plan.version_after_epochs();
  return by_epochs ? stop_reason::epochs : stop_reason::steps;
}

} // namespace

director_rule::director_rule(const director_rule_options& options, watched_figure watched)
  : options_(options),
    rules_{stop_rule{options.stop}, plateau_rule{options.plateau}, std::move(watched)} {}

director_rule::director_rule(const director_rule_options& options, const director_memory& memory,
                             watched_figure watched)
  : options_(options),
    rules_{stop_rule{options.stop, memory.stop},
           plateau_rule{options.plateau, memory.plateau.watch(), memory.plateau.reductions()},
           std::move(watched)},
    start_{memory.version, memory.is_saved},
    last_row_(memory.last_row),
    best_(options.keep_best ? memory.best : std::nullopt),
    last_loss_(memory.last_loss) {
  if (!last_loss_)
    return;
  if (options.plan.schedules_evaluation(start_.version)) // a result may have ended training here
    verdict_ = rules_.stop.verdict(*last_loss_);
  else if (is_better(*last_loss_))
    last_is_best_ = {start_.version, *last_loss_};
}

director_memory director_rule::memory(uint64_t version) const {
  const bool is_row = last_row_ && last_row_->version == version;
  return {version, last_row_, rules_.stop, best_, is_row ? last_loss_ : std::nullopt, rules_.rate};
}

uint64_t director_rule::row_version() const {
  return last_row_ ? last_row_->version : start_.version;
}

horizon_rule director_rule::horizon_after(uint64_t version) const {
  const auto last = std::max(options_.plan.last_version(), version);
  const bool waits = reads_results() || options_.waits_for_rows;
  auto next = waits ? std::max(options_.plan.next_evaluation(version), version) : last;
  if (const auto every = options_.checkpoint_every; every > 0)
    next = std::min(next, (version / every + 1) * every);
  return {next, next == last, rules_.rate.reductions()};
}

director_decisions director_rule::start() {
  if (interrupted_) {
    horizon_ = {start_.version, true, rules_.rate.reductions()};
    director_decisions out{allow_up_to{horizon_}};
    finish(start_.version, stop_reason::interrupt, out);
    return out;
  }
  horizon_ = horizon_after(start_.version);
  if (verdict_ != stop_reason::none)
    horizon_ = {start_.version, true, rules_.rate.reductions()};
  director_decisions out;
  const auto every = options_.checkpoint_every;
  // A term that began with what members hold in memory, at a version that is due.
  if (every > 0 && !start_.is_saved && start_.version % every == 0 &&
      horizon_.version > start_.version)
    out.push_back(take_checkpoint{start_.version});
  out.push_back(allow_up_to{horizon_});
  if (horizon_.version == start_.version) // went on from the end
    finish(start_.version, verdict_ != stop_reason::none ? verdict_ : natural_end(options_.plan),
           out);
  return out;
}

director_decisions director_rule::on_trained(uint64_t version, const batch_sums& sums) {
  director_decisions out;
  if (version <= row_version())
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

director_decisions director_rule::on_hashed(uint64_t version) {
  director_decisions out;
  if (version <= row_version())
    return out;
  hashed_.insert(version);
  complete_rows(out);
  return out;
}

director_decisions director_rule::on_marked(uint64_t version) {
  director_decisions out;
  marked_version_ = std::max(marked_version_, version);
  complete_rows(out);
  return out;
}

director_decisions director_rule::on_stop_named(uint64_t version, stop_reason reason) {
  director_decisions out;
  if (phase_ == phase::ending)
    return out;
  const bool is_cut = cut_ != cut_state::none && reason == stop_reason::interrupt &&
                      version < options_.plan.last_version();
  cut_ = is_cut ? cut_state::standing : cut_state::none;
  if (!is_cut) {
    named_ = reason;
    interrupted_ = version < options_.plan.last_version();
  }
  // Of a version that was named before, and that some shard had passed, no row comes.
  std::erase_if(trained_, [&](const auto& entry) {
    return entry.first < version && !options_.plan.is_row(entry.first);
  });
  horizon_ = {version, !is_cut, rules_.rate.reductions(), is_cut};
  if (phase_ == phase::holding)
    phase_ = phase::training;
  out.push_back(allow_up_to{horizon_});
  if (phase_ == phase::keeping)
    return out;
  // A version that is complete already, or the first one, brings no further report.
  if (is_cut && (version == start_.version || version == row_version()))
    go_on_after(version, out);
  else if (version == start_.version)
    finish(version, reason, out);
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
  // Even when the end has been named: the shard that counts the metrics may have reached a version that
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
  if (cut_ == cut_state::ordered) // the term ends as it begins
    return out;
  const bool stands = std::exchange(cut_, cut_state::none) == cut_state::standing;
  if (stands && phase_ == phase::training) // all reach this version
    return on_stop_named(horizon_.version);
  if (phase_ != phase::training || interrupted_ || named_)
    return out;
  if (horizon_.version == 0) { // not started: no replica is there to answer
    interrupted_ = true;
    return out;
  }
  phase_ = phase::holding;
  out.push_back(hold_replicas{});
  return out;
}

director_decisions director_rule::on_cut_requested() {
  director_decisions out;
  if (phase_ != phase::training || interrupted_ || named_ || cut_ != cut_state::none ||
      horizon_.version == 0)
    return out;
  cut_ = cut_state::holding;
  phase_ = phase::holding;
  out.push_back(hold_replicas{});
  return out;
}

bool director_rule::evaluate(epoch_figures& row) const {
  const auto found = evaluated_.find(row.version);
  if (found == evaluated_.end() || found->second.size() < options_.rows.chunk_count())
    return false;
  tree_accumulator<batch_sums> test, validation;
  for (const auto& [chunk, part] : found->second)
    (options_.rows.is_test(chunk) ? test : validation).push(part);
  if (options_.rows.test.row_count() > 0)
    row.test = test.total();
  if (options_.rows.validation.row_count() > 0)
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
    if (version > options_.plan.next_row(row_version()))
      return; // the row before was lost on its way, and will be reported again
    epoch_figures row{version, train, std::nullopt, std::nullopt};
    if (needs_evaluation(version) && !evaluate(row))
      return; // chunks are still on their way
    if (options_.hashed_blocks > 0 && !hashed_.contains(version))
      return;
    hashed_.erase(hashed_.begin(), hashed_.upper_bound(version));
    trained_.erase(trained_.begin());
    evaluated_.erase(evaluated_.begin(), evaluated_.upper_bound(version));
    on_row(row, out);
  }
  if (phase_ != phase::training)
    return;
  if (last_row_ && is_end(last_row_->version))
    return end_at_last_row(out);
  // The horizon of a checkpoint between two rows makes no row.
  const auto version = horizon_.version;
  if (marked_version_ == version && !horizon_.final && version > row_version() &&
      !options_.plan.is_row(version) && options_.plan.last_row(version) <= row_version())
    go_on_after(version, out);
}

void director_rule::end_at_last_row(director_decisions& out) {
  const bool evaluated = last_row_->test || last_row_->validation;
  if (needs_evaluation(last_row_->version) && !evaluated) {
    if (!evaluate(*last_row_))
      return;
    out.push_back(publish_row{*last_row_});
  }
  finish(last_row_->version, named_.value_or(stop_reason::interrupt), out);
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
  last_loss_.reset();
  if (!options_.plan.evaluates(row.version))
    return;
  const auto& watched = row.validation ? *row.validation : row.test ? *row.test : row.train;
  const auto loss = rules_.watched ? rules_.watched(row)
                                   : watched.loss_sum / static_cast<double>(watched.sample_count);
  last_loss_ = loss;
  const bool is_scheduled = options_.plan.schedules_evaluation(row.version);
  if (is_scheduled) {
    verdict_ = rules_.stop.observe(row.version, loss);
    rules_.rate.observe(row.version, loss);
  }
  if (is_better(loss))
    (is_scheduled ? candidate_ : last_is_best_) = {row.version, loss};
}

bool director_rule::is_better(double loss) const { // a NaN is not
  return options_.keep_best &&
         loss < (best_ ? best_->loss : std::numeric_limits<double>::infinity());
}

void director_rule::go_on_after(uint64_t version, director_decisions& out) {
  if (verdict_ != stop_reason::none)
    return finish(version, verdict_, out);
  if (version != horizon_.version)
    return;
  if (interrupted_)
    return finish(version, named_.value_or(stop_reason::interrupt), out);
  if (horizon_.final)
    return finish(version, natural_end(options_.plan), out);
  if (horizon_.is_cut) {
    cut_ = cut_state::ordered;
    return out.push_back(begin_anew_at{version});
  }
  if (options_.checkpoint_every > 0 && version % options_.checkpoint_every == 0)
    out.push_back(take_checkpoint{version});
  horizon_ = horizon_after(version);
  out.push_back(allow_up_to{horizon_});
}

void director_rule::finish(uint64_t version, stop_reason reason, director_decisions& out) {
  phase_ = phase::ending;
  end_version_ = version;
  if (last_is_best_ && last_is_best_->version != version) // a shard could not reach it
    last_is_best_.reset();
  const auto every = options_.checkpoint_every;
  const bool is_stopped = (named_ || interrupted_) && version < options_.plan.last_version();
  if (every > 0 && reason != stop_reason::diverged &&
      (version > start_.version || !start_.is_saved) &&
      (every != checkpoint_at_stop || is_stopped)) {
    // A result ends the run, or an interrupt while the best version was fetched. Shards do not know
    // yet that this version is the last one; they copy it once they do.
    if (!is_end(version)) {
      horizon_ = {version, true, rules_.rate.reductions()};
      out.push_back(allow_up_to{horizon_});
    }
    out.push_back(take_checkpoint{version});
  }
  out.push_back(finish_at{best() ? best()->version : version, reason});
}

} // namespace troupe
