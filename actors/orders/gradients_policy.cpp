#include "actors/orders/gradients_policy.hpp"

#include <algorithm>
#include <iterator>
#include <stdexcept>
#include <utility>

namespace troupe {

void gradients_policy::begin(server_records& records, state_loader* saved) {
  const auto count = records.roster.place_count();
  moved_.clear();
  options_.trainer_count =
    std::max(count, holds_gradients() ? options_.consistency.first_count : size_t{1});
  coordinator_.emplace(options_);
  coordinator_->set_parameters(records.model.parameters().values());
  records.roster.start_anew(records.model.version()); // a version counts the steps that are done
  // Treats places without a trainer as lost, so that a step does not wait for their gradients.
  for (auto late = count; late < options_.trainer_count; ++late)
    coordinator_->lost(late);
  if (saved)
    coordinator_->load(*saved);
}

std::string gradients_policy::on_lost(size_t place, server_records& records, moment now) {
  const auto gone = coordinator_->lost(place);
  records.roster.release(gone.released);
  if (gone.verdict) // the loss completed a step that others waited for
    records.roster.statistics().on_barrier(now);
  std::ranges::copy(gone.applied, std::back_inserter(moved_));
  return gone.verdict == gradient_verdict::update_refused
           ? "what the gradients of the replicas that are left lead to"
           : "";
}

std::string gradients_policy::remark() const {
  const auto first = coordinator_->rule().first_count();
  if (!holds_gradients() || first == 0)
    return {};
  const auto wanted = options_.consistency.first_count;
  return "; a step takes the first " + std::to_string(first) + " gradients" +
         (first < wanted ? " instead of " + std::to_string(wanted) : "");
}

std::optional<trainer_order> gradients_policy::order_for(size_t place, server_records& records,
                                                         moment now) {
  const auto work = coordinator_->pull(place);
  if (work.decision.reason == staleness_reason::too_far_ahead)
    records.roster.statistics().on_waits(place, now);
  if (work.decision.verdict != staleness_verdict::proceed) {
    records.roster.wait(place);
    return std::nullopt;
  }
  trainer_order order;
  order.task = trainer_task::gradient;
  order.ticket = work.decision.ticket;
  order.first_step = records.roster.take(place, order.ticket, now);
  order.parameters = work.parameters;
  return order;
}

used_result gradients_policy::on_result(const trainer_result& news, server_records& records,
                                        moment now) {
  const auto outcome =
    coordinator_->push(news.trainer, news.ticket, news.values.values(), news.sums.sample_count);
  if (outcome.is_void())
    throw std::logic_error("gradients policy: the staleness rule does not know an order");
  const auto& decision = outcome.decision;
  auto& statistics = records.roster.statistics();
  used_result result{.staleness = decision.staleness,
                     .is_discarded = decision.verdict == staleness_verdict::refuse,
                     .completes_step = decision.completes_step};
  if (result.is_discarded)
    statistics.on_discarded(news.trainer, decision.staleness);
  if (decision.completes_step)
    statistics.on_barrier(now);
  if (outcome.verdict == gradient_verdict::not_finite ||
      outcome.verdict == gradient_verdict::update_refused) {
    result.not_finite =
      "the gradient of replica " + std::to_string(news.trainer) + ", or what it leads to,";
    return result;
  }
  records.roster.release(outcome.released);
  records.model.adopt(records.model.version() + 1, coordinator_->parameters(), news.sums);
  std::ranges::copy(outcome.applied, std::back_inserter(moved_));
  for (const auto& x : std::exchange(moved_, {}))
    statistics.on_applied(x.trainer, x.staleness);
  return result;
}

// The version still counts: its parameters are those of the version before.
std::string gradients_policy::on_left_out(uint64_t, server_records& records, moment) {
  records.model.adopt(records.model.version() + 1, coordinator_->parameters(), {});
  return {};
}

} // namespace troupe
