#include "actors/node/directive_state.hpp"

#include <algorithm>
#include <functional>

namespace troupe {

void directive_state::begin_term() {
  hold_.reset();
  answer_.reset();
  held_.clear();
  if (directive_ && directive_->term != context_.view.id.term)
    directive_.reset();
}

uint64_t directive_state::latest_sequence() const {
  return std::max(directive_ ? directive_->sequence : 0, hold_ ? hold_->sequence : 0);
}

void directive_state::on_directive(const directive& news) {
  const auto& reductions = news.rule.reductions;
  const bool exists =
    news.rule.version <= context_.options.plan.last_version() &&
    std::ranges::adjacent_find(reductions, std::greater_equal{}) == reductions.end() &&
    (reductions.empty() || reductions.back() <= news.rule.version);
  if (news.term != context_.view.id.term || !exists)
    return;
  round_ = std::max(round_, news.round);
  outbox_.forget_rows(news.row_version);
  if (directive_ && news.sequence == directive_->sequence) {
    directive_ = news;
    if (context_.has_server() && !hold_) // the server keeps unfinished evaluations
      pass_on_to_shards();
  }
  if (news.sequence <= latest_sequence())
    return;
  directive_ = news;
  hold_.reset();
  answer_.reset();
  outbox_.forget_marks_before(news.rule.version);
  pass_on();
}

std::optional<uint64_t> directive_state::horizon_version() const {
  return directive_ ? std::optional{directive_->rule.version} : std::nullopt;
}

std::optional<uint64_t> directive_state::final_version() const {
  return directive_ && directive_->rule.final ? horizon_version() : std::nullopt;
}

void directive_state::pass_on() const {
  if (!directive_ || hold_ || !context_.takes_part())
    return;
  for (const auto& place : context_.view.replicas)
    if (context_.at(place, context_.local.members))
      pass_on_to(place.index);
  pass_on_to_shards();
}

void directive_state::pass_on_to(size_t replica) const {
  if (directive_ && !hold_)
    context_.self->send(context_.local.members[replica],
                        horizon{directive_->rule, directive_->row_version});
}

void directive_state::pass_on_to_shards() const {
  for (const auto& one : spans_.all())
    context_.self->send(context_.local.owners[one.local],
                        horizon{directive_->rule, directive_->row_version});
}

void directive_state::on_hold_request(const hold_request& news) {
  if (news.term != context_.view.id.term || !context_.takes_part())
    return;
  const bool is_known = hold_ && news.sequence == hold_->sequence;
  if (is_known && !answer_) // replicas that had not begun could not answer
    return ask_to_hold();
  if (is_known && answer_->view == context_.view.id) // the answer was lost
    return context_.tell_director(*answer_);
  // A hold may come before its view: an answer in the earlier view does not count.
  if (!is_known && news.sequence <= latest_sequence())
    return;
  hold_ = news;
  answer_.reset();
  held_.clear();
  ask_to_hold();
  answer();
}

// Replicas that have not begun have no view to answer in, and begin no step without one. Trainers
// begin no step by themselves.
void directive_state::ask_to_hold() const {
  if (context_.has_server())
    context_.self->send(context_.local.server, atom::hold_v, uint64_t{0}, hold_->sequence);
  if (!actors_.have_begun())
    return;
  for (const auto& place : context_.view.replicas)
    if (const auto member = context_.at(place, context_.local.members))
      context_.self->send(member, atom::hold_v, hold_->sequence);
}

void directive_state::on_held(uint64_t replica, uint64_t round, uint64_t next_step) {
  if (!hold_ || hold_->sequence != round || answer_)
    return;
  held_[replica] = next_step;
  answer();
}

void directive_state::answer() {
  if (!awaits_replicas() || !context_.takes_part() || (actors_.have_begun() && awaits_held()))
    return;
  answer_ = hold_answer{context_.options.self.name, context_.view.id, 0, {}};
  for (const auto& [replica, step] : held_)
    answer_->next_step = std::max(answer_->next_step, step);
  for (const auto& one : spans_.all())
    answer_->shard_versions.push_back(one.version);
  context_.tell_director(*answer_);
}

// Each replica answers for itself; for trainers the parameter server answers.
bool directive_state::awaits_held() const {
  const auto asked = context_.options.kept
                       ? std::ptrdiff_t{context_.has_server()}
                       : std::ranges::count_if(context_.view.replicas, [this](const auto& place) {
                           return context_.is_mine(place);
                         });
  return held_.size() < static_cast<size_t>(asked);
}

} // namespace troupe
