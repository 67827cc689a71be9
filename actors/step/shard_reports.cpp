// What a shard tells the director: the metrics of figures, and why a step was not applied.

#include "actors/step/shard.hpp"

#include "actors/base/version_hashing.hpp"

#include <cmath>
#include <utility>

namespace troupe {

namespace {

std::string slices_in_words(const tree_node& node) {
  if (node.size() == 1)
    return "slice " + std::to_string(node.begin);
  return "slices " + std::to_string(node.begin) + " to " + std::to_string(node.end - 1);
}

span_hash hash_of(const view& at, size_t index, uint64_t version, std::span<const float> parameters,
                  const optimizer_state& state) {
  const auto& blocks = at.shards[index].blocks;
  std::vector<std::span<const float>> slots;
  for (size_t i = 0; i < state.slot_count(); ++i)
    slots.emplace_back(state.slot(i));
  return {at.term, version, blocks, hash_of_blocks(blocks.begin, parameters, slots)};
}

} // namespace

void shard_state::watch_replicas() {
  if (!keeps_book_)
    return;
  std::vector<replica_statistics::place> places;
  for (const auto& entry : view_.replicas)
    places.push_back({entry.name, !entry.slices.empty(), entry.slices.begin});
  statistics_.on_places(places, self_->clock().now());
}

trainer_figures shard_state::on_figures() const {
  return {statistics_.barrier_count(), statistics_.figures()};
}

// The history's versions and the end of training make a row, the horizon a mark; what was said
// already is not said again.
void shard_state::keep_metrics() {
  const auto version = ranges_.version();
  const bool at_horizon = version == horizon_.version;
  const bool is_row = options_.plan.is_row(version) || (at_horizon && horizon_.final);
  if (is_row && told_.hash != version) {
    const traced_work work{options_.trace.get(), trace_kind::hash, version, 0};
    self_->send(view_.director, hash_of(view_, index_, version, current_.values(), state_));
    told_.hash = version;
  }
  if (!keeps_book_)
    return;
  const bool is_news = (is_row && told_.row != version) || (at_horizon && told_.mark != version);
  if (is_news || self_->clock().now() - last_report_ >= progress_interval)
    report();
}

void shard_state::report() {
  const auto version = ranges_.version();
  const bool is_mark = version == horizon_.version;
  const bool is_row =
    (options_.plan.is_row(version) || (is_mark && horizon_.final)) && told_.row != version;
  last_report_ = self_->clock().now();
  const std::chrono::duration<double> seconds = last_report_ - begin_;
  self_->send(view_.director,
              training_report{view_.term, version, metrics_, is_row, is_mark, seconds.count(), {}});
  if (is_mark)
    told_.mark = version;
  if (is_row)
    told_.row = version;
}

// The director hears why before those who wait hear that there is nothing to wait for.
void shard_state::stop_here(not_finite_report report) {
  failed_ = true;
  report.term = view_.term;
  self_->send(view_.director, std::move(report));
  refuse_waiting();
}

void shard_state::refuse_waiting() {
  for (auto& pull : waiting_)
    pull.promise.deliver(caf::make_error(protocol_error::version_not_held, pull.version));
  waiting_.clear();
}

void shard_state::report_not_finite() {
  not_finite_report report;
  report.step = ranges_.version();
  report.what = "the sum of finite gradients, or the parameters it leads to,";
  ranges_.for_each_held([&](const contribution& part) {
    const std::span<const float> values = part.gradient_sum.values();
    const bool finite = find_not_finite({&values, 1}) == 1 && std::isfinite(part.sums.loss_sum);
    if (finite)
      return true;
    report.what = "the gradient or loss of " + slices_in_words(part.node);
    report.has_slice = true;
    report.slice = part.node.begin;
    report.replica = part.replica;
    return false;
  });
  stop_here(std::move(report));
}

void shard_state::report_conflict_of_sums() {
  not_finite_report report;
  report.step = ranges_.version();
  report.what = "two different sums over one block";
  report.problem = step_problem::conflict;
  stop_here(std::move(report));
}

void shard_state::report_malformed(const contribution& news) {
  not_finite_report report;
  report.step = news.step;
  report.what = "a gradient of " + slices_in_words(news.node) + " with " +
                std::to_string(news.gradient_sum.values().size()) + " values from element " +
                std::to_string(news.first_element) + ", where " + std::to_string(elements_.size()) +
                " from element " + std::to_string(elements_.begin) + " are due,";
  report.problem = step_problem::malformed;
  report.has_slice = true;
  report.slice = news.node.begin;
  report.replica = news.replica;
  stop_here(std::move(report));
}

void shard_state::report_odd_start(const shard_start& start) {
  not_finite_report report;
  report.step = view_.start_version;
  report.what = "a state to begin with of " + std::to_string(start.slots.size()) +
                " optimizer slots and " + std::to_string(start.numbers.numbers.size()) +
                " numbers, which is none of this job's optimizer, for " +
                std::to_string(elements_.size()) + " parameters from element " +
                std::to_string(elements_.begin) + ",";
  report.problem = step_problem::malformed;
  stop_here(std::move(report));
}

void shard_state::report_conflict(const contribution& news) {
  not_finite_report report;
  report.step = ranges_.version();
  report.what = "two different gradients of " + slices_in_words(news.node);
  report.problem = step_problem::conflict;
  report.has_slice = true;
  report.slice = news.node.begin;
  report.replica = news.replica;
  stop_here(std::move(report));
}

} // namespace troupe
