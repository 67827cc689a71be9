#include "actors/node/node_work.hpp"

#include <algorithm>
#include <array>
#include <functional>

namespace troupe {

void node_work::begin_replicas() {
  actors_.set_begun(true);
  actors_.tell_replicas(context_.view.start_version);
}

void node_work::on_view(const cluster_view&, size_t) {
  actors_.tell_replicas(context_.view.start_version);
}

// The shard alone knows its versions: the one that was wanted last is kept. It may be an earlier one
// than before, when a shard cannot reach the version that training was to end at.
void node_work::on_asked(const tensor_asked& news) {
  if (news.what.of.kind != tensor_kind::parameters || news.by != peer_id::director)
    return;
  for (const auto& one : spans_.all())
    context_.self
      ->request(context_.local.owners[one.local], local_answer_deadline, atom::pull_v,
                news.what.of.key)
      .then(
        [this, one](const parameter_span& answer) {
          if (answer.term != context_.view.id.term || answer.values.size() != one.elements.size())
            return;
          const std::array route{tensor_route{peer_id::director, one.elements}};
          context_.exchange->forget(tensor_kind::parameters, keys_before(answer.version));
          context_.exchange->forget(tensor_kind::parameters, {answer.version + 1, UINT64_MAX});
          context_.exchange->publish(
            {.of = {tensor_kind::parameters, answer.term, answer.version, only_leaf, 0},
             .first_element = one.elements.begin,
             .values = answer.values},
            route, context_.now());
          context_.settle();
        },
        // A version that is gone or will not come: the director hears why from the shard itself.
        [](const caf::error&) {});
}

std::vector<awaited> node_work::waits(moment, std::optional<uint64_t>) const {
  return {};
}

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
    if (server_is_here() && !hold_) // it keeps evaluations until their row is complete
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
  if (is_known && !answer_) // who had nothing to begin from yet could not answer
    return ask_to_hold();
  if (is_known && answer_->view == context_.view.id) // the answer was lost
    return context_.tell_director(*answer_);
  // A hold may be faster than its view: what was said in the view before does not count.
  if (!is_known && news.sequence <= latest_sequence())
    return;
  hold_ = news;
  if (context_.options.listeners.on_hold)
    context_.options.listeners.on_hold();
  answer_.reset();
  held_.clear();
  ask_to_hold();
  answer();
}

// Replicas that have not begun know of no view to answer in, and begin no step while this is so.
// Trainers begin none by themselves.
void directive_state::ask_to_hold() const {
  if (server_is_here())
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

// Of replicas each answers for itself, of trainers the parameter server alone.
bool directive_state::awaits_held() const {
  const auto asked = context_.options.kept
                       ? std::ptrdiff_t{server_is_here()}
                       : std::ranges::count_if(context_.view.replicas, [this](const auto& place) {
                           return context_.is_mine(place);
                         });
  return held_.size() < static_cast<size_t>(asked);
}

template <class T>
void result_outbox::tell(const T& news) {
  clock_.restart(context_.now());
  context_.tell_director(news);
}

void result_outbox::begin_term() {
  rows_.clear();
  marks_.clear();
  evaluations_.clear();
  hashes_.clear();
  not_finite_.reset();
}

void result_outbox::add(const training_report& news) {
  if (news.is_row)
    rows_[news.version] = news;
  else if (news.is_mark)
    marks_[news.version] = news;
  tell(news);
}

void result_outbox::add(const evaluation& news) {
  evaluations_[{news.version, news.first_chunk}] = news;
  tell(news);
}

void result_outbox::add(const span_hash& news) {
  hashes_[{news.version, news.blocks.begin}] = news;
  tell(news);
}

void result_outbox::add(const not_finite_report& news) {
  not_finite_ = news;
  tell(news);
}

void result_outbox::forget_rows(uint64_t version) {
  rows_.erase(rows_.begin(), rows_.upper_bound(version));
  const auto has_arrived = [=](const auto& entry) { return entry.first.first <= version; };
  std::erase_if(evaluations_, has_arrived);
  std::erase_if(hashes_, has_arrived);
}

void result_outbox::forget_marks_before(uint64_t version) {
  marks_.erase(marks_.begin(), marks_.lower_bound(version));
}

void result_outbox::tick(moment now) {
  if (!clock_.due(now))
    return;
  for (const auto& [version, row] : rows_)
    context_.tell_director(row);
  for (const auto& [version, mark] : marks_)
    context_.tell_director(mark);
  for (const auto& [key, result] : evaluations_)
    context_.tell_director(result);
  for (const auto& [key, hash] : hashes_)
    context_.tell_director(hash);
  if (not_finite_)
    context_.tell_director(*not_finite_);
}

} // namespace troupe
