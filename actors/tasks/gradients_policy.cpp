#include "actors/tasks/gradients_policy.hpp"

#include <algorithm>
#include <iterator>
#include <stdexcept>
#include <utility>

namespace troupe {

void gradients_policy::begin(server_records& records, span_model& span, state_loader* saved) {
  const auto count = records.roster.place_count();
  moved_.clear();
  is_left_to_close_ = false;
  options_.trainer_count =
    std::max(count, holds_gradients() ? options_.consistency.first_count : size_t{1});
  rule_.emplace(options_.consistency, options_.trainer_count);
  records.roster.start_anew(records.model.version()); // a version counts the steps that are done
  // Treats places without a trainer as lost, so that a step does not wait for their gradients.
  for (auto late = count; late < options_.trainer_count; ++late)
    rule_->on_lost(late);
  if (saved) {
    span.load(*saved);
    rule_->on_restored(span.held_count());
  }
}

void gradients_policy::close(const staleness_decision& decision, server_records& records) {
  records.decisions.write({.kind = entry_kind::close});
  std::ranges::copy(decision.applied, std::back_inserter(moved_));
}

void gradients_policy::close_left(server_records& records) {
  if (std::exchange(is_left_to_close_, false))
    records.decisions.write({.kind = entry_kind::close, .is_late = true});
}

std::optional<server_outcome> gradients_policy::pass_over(server_records& records, moment) {
  if (!is_left_to_close_ || records.model.version() >= records.model.step_limit())
    return std::nullopt;
  close_left(records);
  return server_outcome{.when_not_finite =
                          "what the gradients of the replicas that are left lead to"};
}

server_outcome gradients_policy::on_lost(size_t place, server_records& records, moment now) {
  const auto decision = rule_->on_lost(place);
  if (decision.completes_step) { // the loss completed a step that others waited for
    is_left_to_close_ = true;
    std::ranges::copy(decision.applied, std::back_inserter(moved_));
    records.roster.statistics().on_barrier(now);
  }
  records.roster.release(rule_->released());
  return {};
}

std::string gradients_policy::remark() const {
  const auto first = rule_->first_count();
  if (!holds_gradients() || first == 0)
    return {};
  const auto wanted = options_.consistency.first_count;
  return "; a step takes the first " + std::to_string(first) + " gradients" +
         (first < wanted ? " instead of " + std::to_string(wanted) : "");
}

std::optional<trainer_task> gradients_policy::task_for(size_t place, server_records& records,
                                                       moment now) {
  const auto decision = rule_->on_pull(place);
  if (decision.reason == staleness_reason::too_far_ahead)
    records.roster.statistics().on_waits(place, now);
  if (decision.verdict != staleness_verdict::proceed) {
    records.roster.wait(place);
    return std::nullopt;
  }
  trainer_task task;
  task.kind = task_kind::gradient;
  task.ticket = decision.ticket;
  task.first_step = records.roster.take(place, task.ticket, now);
  return task;
}

server_outcome gradients_policy::on_result(const trainer_result& news, server_records& records,
                                           moment now) {
  const auto decision = news.finite ? rule_->on_gradient(news.trainer, news.ticket)
                                    : rule_->on_useless(news.trainer, news.ticket);
  if (decision.reason == staleness_reason::unknown_ticket ||
      decision.reason == staleness_reason::not_a_trainer)
    throw std::logic_error("gradients policy: the staleness rule does not know a task");
  auto& statistics = records.roster.statistics();
  server_outcome result{.staleness = decision.staleness,
                        .is_discarded = decision.verdict == staleness_verdict::refuse,
                        .completes_step = decision.completes_step};
  const bool is_taken = news.finite && !result.is_discarded;
  close_left(records);
  sequence_entry entry{.kind = is_taken ? entry_kind::take : entry_kind::drop,
                       .number = news.ticket};
  entry.is_late = result.is_discarded;
  entry.sample_count = news.sums.sample_count;
  entry.step_scale = decision.step_scale;
  records.decisions.write(entry);
  if (result.is_discarded)
    statistics.on_discarded(news.trainer, decision.staleness);
  if (decision.completes_step)
    statistics.on_barrier(now);
  result.when_not_finite =
    "the gradient of replica " + std::to_string(news.trainer) + ", or what it leads to,";
  if (!news.finite) {
    result.problem = result.when_not_finite;
    return result;
  }
  if (is_taken && decision.verdict != staleness_verdict::wait)
    close(decision, records);
  records.roster.release(rule_->released());
  result.next = {records.model.version() + 1, news.sums};
  for (const auto& x : std::exchange(moved_, {}))
    statistics.on_applied(x.trainer, x.staleness);
  return result;
}

// The version still counts: its parameters are those of the version before.
server_outcome gradients_policy::on_left_out(uint64_t piece, server_records& records, moment) {
  records.decisions.write({.kind = entry_kind::pass, .step = piece});
  return {.next = next_version{records.model.version() + 1, {}}};
}

} // namespace troupe
