#include "actors/orders/rounds_policy.hpp"

#include "coordinators/job/training_modes.hpp"
#include "models/base/copy_values.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace troupe {

void rounds_policy::begin(server_records& records, state_loader* saved) {
  const auto initial = records.model.parameters().values();
  const auto& [plan, rounds, slot_count] = options_;
  rounds_.emplace(rounds, initial);
  last_ticket_ = 0;
  open_ = false;
  states_.clear();
  for (size_t i = 0; i < rounds.member_count; ++i)
    states_.emplace_back(slot_count, initial.size());
  sums_.assign(rounds.member_count, {});
  if (saved)
    load(*saved);
}

void rounds_policy::save(state_saver& out) const {
  rounds_->save(out);
  for (const auto& state : states_)
    for (const auto& slot : state.slots())
      out.share(slot);
}

void rounds_policy::load(state_loader& in) {
  rounds_->load(in);
  for (const auto& state : states_)
    for (size_t i = 0; i < options_.slot_count; ++i)
      copy_values(in.vector().values(), state.slot(i).begin());
}

uint64_t rounds_policy::piece_limit(server_records& records) {
  const auto version = records.model.version();
  if (!open_ && version < records.model.step_limit()) {
    open_ = true;
    begin_ = version;
    end_ = round_end(options_.plan, version, options_.rounds.local_steps);
    std::ranges::fill(sums_, batch_sums{});
    records.roster.start_anew();
  }
  return open_ ? sums_.size() : 0;
}

std::optional<trainer_order> rounds_policy::order_for(size_t place, server_records& records,
                                                      moment now) {
  trainer_order order;
  order.task = trainer_task::local_steps;
  order.ticket = ++last_ticket_;
  order.member = records.roster.take(place, order.ticket, now);
  order.first_step = records.model.version();
  order.step_count = end_ - order.first_step;
  order.parameters = rounds_->work_of(order.member).parameters;
  order.state = states_[order.member];
  return order;
}

used_result rounds_policy::on_result(const trainer_result& news, server_records& records,
                                     moment now) {
  const auto who = "the model of member " + std::to_string(news.member);
  if (!news.finite)
    return {.not_finite = who};
  sums_.at(news.member) = news.sums;
  states_.at(news.member) = news.state;
  switch (rounds_->finish(
    rounds_->round(),
    {.child = news.member, .values = news.values, .sample_count = news.sums.sample_count})) {
  case round_verdict::closed:
    close_round(records, now);
    break;
  case round_verdict::diverged:
    return {.not_finite = who + ", or the one it was merged to,"};
  case round_verdict::misfit:
  case round_verdict::conflict:
    throw std::logic_error(who + " does not fit its round");
  case round_verdict::waits:
  case round_verdict::duplicate:
  case round_verdict::stale:
    break;
  }
  return {};
}

std::string rounds_policy::in_words(uint64_t piece) const {
  return "member " + std::to_string(piece) + " in steps " + std::to_string(begin_) + " to " +
         std::to_string(end_ - 1);
}

// A member that is left out goes on with the next round, from the main model and its old state.
std::string rounds_policy::on_left_out(uint64_t piece, server_records& records, moment now) {
  switch (rounds_->leave_out(piece)) {
  case round_verdict::misfit:
    return "too few members are left to merge";
  case round_verdict::diverged:
    return "the model that the others were merged to is not finite";
  case round_verdict::closed:
    close_round(records, now);
    break;
  case round_verdict::waits:
  case round_verdict::duplicate:
  case round_verdict::stale:
  case round_verdict::conflict:
    break;
  }
  return {};
}

void rounds_policy::close_round(server_records& records, moment now) {
  open_ = false;
  records.roster.statistics().on_barrier(now);
  batch_sums total;
  for (const auto& part : sums_)
    total = total + part;
  auto main = rounds_->main_parameters();
  if (options_.rounds.averaging.kind != averaging_kind::none) {
    const buffer average{main.size()};
    copy_values(rounds_->evaluated_parameters(), average.values().begin());
    main = average;
  }
  records.model.adopt(end_, main, total);
}

} // namespace troupe
