#include "actors/tasks/rounds_policy.hpp"

#include "coordinators/job/training_modes.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace troupe {

void rounds_policy::begin(server_records&, span_model& span, state_loader* saved) {
  const auto& rounds = options_.rounds;
  members_.emplace(rounds.member_count, member_count_min(rounds));
  sums_.assign(rounds.member_count, {});
  last_ticket_ = round_ = 0;
  open_ = false;
  if (!saved)
    return;
  round_ = saved->count();
  span.load(*saved);
}

void rounds_policy::save(state_saver& out, const span_model& span) const {
  out.count(round_);
  span.save(out);
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

std::optional<trainer_task> rounds_policy::task_for(size_t place, server_records& records,
                                                    moment now) {
  trainer_task task;
  task.kind = task_kind::local_steps;
  task.ticket = ++last_ticket_;
  task.member = records.roster.take(place, task.ticket, now);
  task.first_step = records.model.version();
  task.step_count = end_ - task.first_step;
  return task;
}

server_outcome rounds_policy::on_result(const trainer_result& news, server_records& records,
                                        moment now) {
  const auto who = "the model of member " + std::to_string(news.member);
  sequence_entry entry{.kind = news.finite ? entry_kind::take : entry_kind::drop,
                       .number = news.ticket};
  entry.place = news.member;
  entry.sample_count = news.sums.sample_count;
  records.decisions.write(entry);
  if (!news.finite)
    return {.problem = who};
  if (news.sums.sample_count == 0)
    throw std::logic_error(who + " has no rows");
  sums_.at(news.member) = news.sums;
  members_->come(news.member);
  server_outcome result{.when_not_finite = who + ", or the one it was merged to,"};
  if (members_->is_complete())
    result.next = close_round(records, now);
  return result;
}

std::string rounds_policy::in_words(uint64_t piece) const {
  return "member " + std::to_string(piece) + " in steps " + std::to_string(begin_) + " to " +
         std::to_string(end_ - 1);
}

// A member that is left out goes on with the next round, from the main model and its old state.
server_outcome rounds_policy::on_left_out(uint64_t piece, server_records& records, moment now) {
  server_outcome result{.when_not_finite =
                          "the model that the others were merged to is not finite"};
  if (!members_->leave_out(piece))
    result.problem = "too few members are left to merge";
  else if (members_->is_complete())
    result.next = close_round(records, now);
  return result;
}

next_version rounds_policy::close_round(server_records& records, moment now) {
  open_ = false;
  records.roster.statistics().on_barrier(now);
  sequence_entry entry{.kind = entry_kind::close};
  entry.round = ++round_;
  records.decisions.write(entry);
  members_->begin();
  batch_sums total;
  for (const auto& part : sums_)
    total = total + part;
  return {end_, total};
}

} // namespace troupe
