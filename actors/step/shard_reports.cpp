// What a shard tells the director: the metrics of figures, and why a step was not applied.

#include "actors/step/shard.hpp"

#include "actors/base/version_hashing.hpp"

#include <cmath>
#include <utility>

namespace troupe {

namespace {

span_hash hash_of(const view& at, size_t index, uint64_t version, std::span<const float> parameters,
                  const optimizer_state& state) {
  const auto& blocks = at.shards[index].blocks;
  std::vector<std::span<const float>> slots;
  for (size_t i = 0; i < state.slot_count(); ++i)
    slots.emplace_back(state.slot(i));
  return {at.term, version, blocks, hash_of_blocks(blocks.begin, parameters, slots)};
}

} // namespace

std::string slices_in_words(const tree_node& node) {
  if (node.size() == 1)
    return "slice " + std::to_string(node.begin);
  return "slices " + std::to_string(node.begin) + " to " + std::to_string(node.end - 1);
}

void shard_state::watch_replicas() {
  if (!metrics_.are_kept)
    return;
  std::vector<replica_statistics::place> places;
  for (const auto& entry : view_.replicas)
    places.push_back({entry.name, !entry.slices.empty(), entry.slices.begin});
  metrics_.statistics.on_places(places, self_->clock().now());
}

trainer_figures shard_state::on_figures() const {
  return {metrics_.statistics.barrier_count(), metrics_.statistics.figures()};
}

// The history's versions and the end of training make a row, the horizon a mark; what was said
// already is not said again.
void shard_state::keep_metrics() {
  const auto version = ranges_.version();
  const bool at_horizon = version == horizon_.version;
  const bool is_row = options_.plan.is_row(version) || (at_horizon && horizon_.final);
  if (is_row && told_.hash != version) {
    const traced_work work{options_.trace.get(), trace_kind::hash, version, 0};
    self_->send(view_.director, hash_of(view_, view_.index, version, current_.values(), state_));
    told_.hash = version;
  }
  if (!metrics_.are_kept)
    return;
  const bool is_news = (is_row && told_.row != version) || (at_horizon && told_.mark != version);
  if (is_news || self_->clock().now() - times_.last_report >= progress_interval)
    report();
}

void shard_state::report() {
  const auto version = ranges_.version();
  const bool is_mark = version == horizon_.version;
  const bool is_row =
    (options_.plan.is_row(version) || (is_mark && horizon_.final)) && told_.row != version;
  times_.last_report = self_->clock().now();
  const std::chrono::duration<double> seconds = times_.last_report - times_.begin;
  self_->send(
    view_.director,
    training_report{view_.term, version, metrics_.sums, is_row, is_mark, seconds.count(), {}});
  if (is_mark)
    told_.mark = version;
  if (is_row)
    told_.row = version;
}

// The director hears why before those who wait hear that there is nothing to wait for.
void shard_state::stop_here(uint64_t step, step_problem problem, std::string what,
                            const contribution* part) {
  failed_ = true;
  not_finite_report report;
  report.term = view_.term;
  report.step = step;
  report.problem = problem;
  report.what = std::move(what);
  if (part) {
    report.has_slice = true;
    report.slice = part->node.begin;
    report.replica = part->replica;
  }
  self_->send(view_.director, std::move(report));
  refuse_waiting();
}

void shard_state::refuse_waiting() {
  for (auto& pull : waiting_)
    pull.promise.deliver(caf::make_error(protocol_error::version_not_held, pull.version));
  waiting_.clear();
}

void shard_state::report_not_finite() {
  std::string what = "the sum of finite gradients, or the parameters it leads to,";
  const contribution* guilty = nullptr;
  ranges_.for_each_held([&](const contribution& part) {
    const std::span<const float> values = part.gradient_sum.values();
    if (find_not_finite({&values, 1}) == 1 && std::isfinite(part.sums.loss_sum))
      return true;
    what = "the gradient or loss of " + slices_in_words(part.node);
    guilty = &part;
    return false;
  });
  stop_here(ranges_.version(), step_problem::not_finite, std::move(what), guilty);
}

} // namespace troupe
