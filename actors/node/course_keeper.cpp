#include "actors/node/course_keeper.hpp"

#include <algorithm>
#include <functional>

namespace troupe {

void course_keeper::begin_term() {
  hold_.reset();
  answer_.reset();
  held_.clear();
  if (course_ && course_->term != seat_.view.id.term)
    course_.reset();
}

uint64_t course_keeper::latest_sequence() const {
  return std::max(course_ ? course_->sequence : 0, hold_ ? hold_->sequence : 0);
}

void course_keeper::on_course(const course& news) {
  const auto& reductions = news.rule.reductions;
  const bool exists =
    news.rule.version <= seat_.options.plan.last_version() &&
    std::ranges::adjacent_find(reductions, std::greater_equal{}) == reductions.end() &&
    (reductions.empty() || reductions.back() <= news.rule.version);
  if (news.term != seat_.view.id.term || !exists)
    return;
  round_ = std::max(round_, news.round);
  outbox_.forget_rows(news.row_version);
  if (course_ && news.sequence == course_->sequence) {
    course_ = news;
    if (keeper_is_here() && !hold_) // it keeps evaluations until their row is complete
      pass_on_to_shards();
  }
  if (news.sequence <= latest_sequence())
    return;
  course_ = news;
  hold_.reset();
  answer_.reset();
  outbox_.forget_marks_before(news.rule.version);
  pass_on();
}

std::optional<uint64_t> course_keeper::horizon_version() const {
  return course_ ? std::optional{course_->rule.version} : std::nullopt;
}

std::optional<uint64_t> course_keeper::final_version() const {
  return course_ && course_->rule.final ? horizon_version() : std::nullopt;
}

void course_keeper::pass_on() const {
  if (!course_ || hold_ || !seat_.takes_part())
    return;
  for (const auto& place : seat_.view.replicas)
    if (seat_.at(place, seat_.local.members))
      pass_on_to(place.index);
  pass_on_to_shards();
}

void course_keeper::pass_on_to(size_t replica) const {
  if (course_ && !hold_)
    seat_.self->send(seat_.local.members[replica], horizon{course_->rule, course_->row_version});
}

void course_keeper::pass_on_to_shards() const {
  for (const auto& one : spans_.all())
    seat_.self->send(seat_.local.owners[one.local], horizon{course_->rule, course_->row_version});
}

void course_keeper::on_hold_request(const hold_request& news) {
  if (news.term != seat_.view.id.term || !seat_.takes_part())
    return;
  const bool is_known = hold_ && news.sequence == hold_->sequence;
  if (is_known && !answer_) // who had nothing to begin from yet could not answer
    return ask_to_hold();
  if (is_known && answer_->view == seat_.view.id) // the answer was lost
    return seat_.tell_director(*answer_);
  // A hold may be faster than its view: what was said in the view before does not count.
  if (!is_known && news.sequence <= latest_sequence())
    return;
  hold_ = news;
  if (seat_.options.listeners.on_hold)
    seat_.options.listeners.on_hold();
  answer_.reset();
  held_.clear();
  ask_to_hold();
  answer();
}

// Replicas that have not begun know of no view to answer in, and begin no step while this is so.
// Trainers begin none by themselves.
void course_keeper::ask_to_hold() const {
  if (keeper_is_here())
    seat_.self->send(seat_.local.keeper, atom::hold_v, uint64_t{0}, hold_->sequence);
  if (!actors_.have_begun())
    return;
  for (const auto& place : seat_.view.replicas)
    if (const auto member = seat_.at(place, seat_.local.members))
      seat_.self->send(member, atom::hold_v, hold_->sequence);
}

void course_keeper::on_held(uint64_t replica, uint64_t round, uint64_t next_step) {
  if (!hold_ || hold_->sequence != round || answer_)
    return;
  held_[replica] = next_step;
  answer();
}

void course_keeper::answer() {
  if (!awaits_replicas() || !seat_.takes_part() || (actors_.have_begun() && awaits_held()))
    return;
  answer_ = hold_answer{seat_.options.self.name, seat_.view.id, 0, {}};
  for (const auto& [replica, step] : held_)
    answer_->next_step = std::max(answer_->next_step, step);
  for (const auto& one : spans_.all())
    answer_->shard_versions.push_back(one.version);
  seat_.tell_director(*answer_);
}

// Of replicas each answers for itself, of trainers the keeper alone.
bool course_keeper::awaits_held() const {
  const auto asked = seat_.options.kept
                       ? std::ptrdiff_t{keeper_is_here()}
                       : std::ranges::count_if(seat_.view.replicas, [this](const auto& place) {
                           return seat_.is_mine(place);
                         });
  return held_.size() < static_cast<size_t>(asked);
}

} // namespace troupe
