// Views, courses and holds: from the cluster's to the process's.

#include "troupe/actors/node/node.hpp"

#include "troupe/coordinators/step/placement.hpp"

#include <algorithm>
#include <utility>

namespace troupe {

bool node_state::names_me(const cluster_view& x) const {
  const auto place = x.find(options_.self.name);
  return place && x.members[*place].incarnation == options_.self.incarnation;
}

void node_state::on_cluster_view(const cluster_view& news) {
  if (news.id <= view_.id)
    return;
  misfit_ = misfit_of(news, limits_here());
  if (!misfit_.empty()) {
    if (options_.on_misfit)
      options_.on_misfit(misfit_);
    return;
  }
  adopt(news);
  if (options_.on_standing)
    options_.on_standing(view_.id, options_.self.incarnation, takes_part());
}

view_limits node_state::limits_here() const {
  return {options_.self.name,
          replicas_.size(),
          shards_.size(),
          options_.kept ? 0 : options_.plan.slice_count,
          options_.network->layout().size(),
          options_.plan.last_version()};
}

void node_state::adopt(const cluster_view& news) {
  const bool new_term = news.id.term != view_.id.term;
  const bool took_part = takes_part();
  const bool computed = computes();
  const auto before = std::exchange(view_, news);
  const auto me_before = me_;
  for (auto& [who, there] : peers_)
    if (!news.find(who))
      there.out.forget();
  me_ = names_me(news) ? news.find(options_.self.name) : std::nullopt;
  if (!me_)
    return rest();
  if (new_term || !took_part)
    return begin_term();
  meet_distant_trainers();
  take_up_slices();
  if (!restoring_) // else they are told once their state is here: they would begin without it
    tell_shards();
  if (computes() && !computed)
    gather_from(std::nullopt);
  if (replicas_begun_ || !computes()) {
    const auto fresh = idle_before(before, *me_before);
    for (const auto replica : fresh)
      ++restarts_[view_.replicas[replica].index];
    tell_replicas(gathering_.held().value_or(view_.start_version));
    for (const auto replica : fresh)
      catch_up(replica);
  }
}

// Versions pass by a replica without slices: what it knows of them is old, if anything.
std::vector<size_t> node_state::idle_before(const cluster_view& before, size_t me_before) {
  std::vector<size_t> result;
  for (size_t i = 0; i < view_.replicas.size() && marches() && gathering_.held(); ++i) {
    const auto& place = view_.replicas[i];
    const bool had_slices = std::ranges::any_of(before.replicas, [&](const replica_place& other) {
      return other.member == me_before && other.index == place.index && !other.slices.empty();
    });
    if (place.member == *me_ && !place.slices.empty() && !had_slices)
      result.push_back(i);
  }
  return result;
}

// It begins where the others of this process are.
void node_state::catch_up(size_t replica) {
  announce_to(replica, *gathering_.held());
  if (has_course_ && !hold_)
    self_->send(replicas_[view_.replicas[replica].index],
                horizon{course_.rule, course_.row_version});
}

void node_state::begin_term() {
  const auto count = options_.network->layout().size();
  versions_ = std::make_shared<version_buffers>(options_.parameters);
  forget_what_waits();
  gathered_.clear();
  sums_ = local_sums{options_.plan};
  parts_.clear();
  sent_.clear();
  begun_.clear();
  norms_.clear();
  rows_.clear();
  marks_.clear();
  evaluations_.clear();
  not_finite_.reset();
  kept_version_ = 0;
  restoring_.reset();
  hold_.reset();
  hold_answer_.reset();
  held_.clear();
  if (has_course_ && course_.term != view_.id.term)
    has_course_ = false;
  desks_.clear();
  take_up_slices();
  std::vector<index_range> spans;
  for (size_t k = 0; k < view_.shards.size(); ++k) {
    const auto& place = view_.shards[k];
    const auto span = elements_of_blocks(place.blocks, count);
    if (place.member != *me_ || span.empty())
      continue;
    spans.push_back(span);
    desks_.push_back(
      {k, place.index, {options_.plan, span, view_.start_version}, {}, {}, {}, {}, {}, {}});
  }
  const auto now = self_->clock().now();
  for (auto& desk : desks_) {
    desk.gradients_clock.restart(now);
    desk.norms_clock.restart(now);
  }
  // Who comes in the middle of a term cannot know how far the others are.
  gather_from(view_.id.number == 1 ? std::optional{view_.start_version} : std::nullopt);
  begin_orders();
  meet_distant_trainers();
  if (!marches())
    tell_replicas(view_.start_version);
  if (view_.start_version == 0)
    options_.network->initialize(options_.seed, versions_->of(0).values());
  else if (!desks_.empty()) {
    restoring_.emplace(view_.start_version, spans, options_.slot_count);
    restoring_clock_ = {}; // asked for at the next tick
    ask_for_state(now);
    return;
  }
  start_shards();
}

void node_state::start_shards() {
  for (size_t k = 0; k < desks_.size(); ++k) {
    shard_start start{view_.id.term, versions_, {}, {}};
    if (restoring_) {
      start.slots = restoring_->slots_of(k);
      start.numbers = restoring_->numbers_of(k);
    }
    self_->send(shards_[desks_[k].local], std::move(start));
  }
  restoring_.reset();
  tell_shards();
  pass_on_horizon();
}

void node_state::gather_from(std::optional<uint64_t> first) {
  replicas_begun_ = !marches();
  if (!marches())
    return;
  std::vector<index_range> spans;
  for (const auto& place : view_.shards)
    spans.push_back(elements_of_blocks(place.blocks, options_.network->layout().size()));
  gathering_ = version_gathering{std::move(spans), first};
  gathered_.clear();
  parameters_clock_.restart(self_->clock().now());
  // What local shards have announced already counts.
  for (const auto& desk : desks_)
    for (const auto& [version, values] : desk.versions)
      on_parameter_span({view_.id.term, version, desk.shard, values});
}

// Replicas hear of whole versions only, one after the other; after a jump they begin anew.
void node_state::tell_whole_version() {
  const auto whole = gathering_.take_whole();
  if (!whole)
    return;
  sums_.drop_before(whole->version);
  parts_.erase(parts_.begin(), parts_.lower_bound(whole->version));
  sent_.erase(sent_.begin(), sent_.lower_bound(whole->version));
  begun_.erase(begun_.begin(), begun_.lower_bound(whole->version));
  gathered_.erase(gathered_.begin(), gathered_.lower_bound(whole->version));
  if (whole->jump || !replicas_begun_) {
    restart_replicas();
    replicas_begun_ = true;
    tell_replicas(whole->version);
    pass_on_horizon();
  }
  for (size_t i = 0; i < view_.replicas.size(); ++i)
    if (view_.replicas[i].member == *me_ && !view_.replicas[i].slices.empty())
      announce_to(i, whole->version);
}

// To the replica at this place of the view.
void node_state::announce_to(size_t replica, uint64_t version) {
  const auto& storage = gathered_.at(version);
  for (size_t k = 0; k < view_.shards.size(); ++k) {
    const auto elements =
      elements_of_blocks(view_.shards[k].blocks, options_.network->layout().size());
    if (!elements.empty())
      self_->send(replicas_[view_.replicas[replica].index],
                  parameter_span{view_.id.term, version, k,
                                 payload{storage, elements.begin, elements.size()}});
  }
}

view node_state::local_view(uint64_t start_version) const {
  view result;
  result.term = view_.id.term;
  result.number = view_.id.number;
  result.start_version = start_version;
  result.director = caf::actor_cast<reports_actor>(self_);
  result.relay = caf::actor_cast<relay_actor>(self_);
  result.wired = marches();
  for (const auto& place : view_.replicas)
    result.replicas.push_back(
      {replica_at(place), place.slices, {view_.members[place.member].name, place.index}});
  for (const auto& place : view_.shards) {
    const bool is_local = me_ && place.member == *me_;
    result.shards.push_back({is_local ? shards_[place.index] : shard_actor{}, place.blocks});
  }
  return result;
}

void node_state::tell_replicas(uint64_t start_version) {
  auto news = local_view(start_version);
  for (size_t i = 0; i < view_.replicas.size(); ++i)
    if (me_ && view_.replicas[i].member == *me_) {
      news.index = i;
      news.restarts = restarts_[view_.replicas[i].index];
      self_->send(replicas_[view_.replicas[i].index], news);
    }
}

void node_state::restart_replicas() {
  for (auto& count : restarts_)
    ++count;
}

void node_state::rest() {
  forget_what_waits();
  begin_orders();
  restart_replicas();
  auto news = local_view(0);
  news.shards.clear();
  news.replicas.assign(1, {});
  for (size_t i = 0; i < replicas_.size(); ++i) {
    news.restarts = restarts_[i];
    self_->send(replicas_[i], news);
  }
}

void node_state::tell_shards() {
  auto news = local_view(view_.start_version);
  for (size_t k = 0; k < view_.shards.size(); ++k)
    if (view_.shards[k].member == *me_) {
      news.index = k;
      self_->send(shards_[view_.shards[k].index], news);
    }
}

void node_state::on_course(const course& news) {
  if (news.term != view_.id.term || news.rule.version > options_.plan.last_version())
    return;
  const auto latest = std::max(has_course_ ? course_.sequence : 0, hold_ ? hold_->sequence : 0);
  rows_.erase(rows_.begin(), rows_.upper_bound(news.row_version));
  std::erase_if(evaluations_,
                [&](const auto& entry) { return entry.first.first <= news.row_version; });
  if (has_course_ && news.sequence == course_.sequence) {
    course_ = news;
    if (keeper_is_here() && !hold_) // it keeps evaluations until their row is complete
      tell_shards_horizon();
  }
  if (news.sequence <= latest)
    return;
  course_ = news;
  has_course_ = true;
  hold_.reset();
  hold_answer_.reset();
  std::erase_if(marks_, [&](const auto& entry) { return entry.first < news.rule.version; });
  pass_on_horizon();
}

void node_state::pass_on_horizon() {
  if (!has_course_ || hold_ || !takes_part())
    return;
  for (const auto& place : view_.replicas)
    if (place.member == *me_)
      self_->send(replicas_[place.index], horizon{course_.rule, course_.row_version});
  tell_shards_horizon();
}

void node_state::tell_shards_horizon() {
  for (const auto& desk : desks_)
    self_->send(shards_[desk.local], horizon{course_.rule, course_.row_version});
}

void node_state::on_hold_request(const hold_request& news) {
  if (news.term != view_.id.term || !takes_part())
    return;
  const bool is_known = hold_ && news.sequence == hold_->sequence;
  if (is_known && (!hold_answer_ || hold_answer_->view == view_.id)) { // the answer was lost
    if (hold_answer_ && director_)
      self_->send(director_, *hold_answer_);
    return;
  }
  // A hold may be faster than its view: what was said in the view before does not count.
  if (!is_known &&
      news.sequence <= std::max(has_course_ ? course_.sequence : 0, hold_ ? hold_->sequence : 0))
    return;
  hold_ = news;
  if (options_.on_hold)
    options_.on_hold();
  hold_answer_.reset();
  held_.clear();
  ask_to_hold_here(news.sequence);
  answer_hold();
}

// Replicas that have not begun know of no view to answer in, and begin no step while this is so.
// Trainers begin none by themselves.
void node_state::ask_to_hold_here(uint64_t round) {
  if (keeper_is_here())
    self_->send(caf::actor_cast<keeper_actor>(shards_[desks_.front().local]), atom::hold_v,
                uint64_t{0}, round);
  if (options_.kept || !replicas_begun_)
    return;
  for (const auto& place : view_.replicas)
    if (place.member == *me_)
      self_->send(replicas_[place.index], atom::hold_v, round);
}

void node_state::on_held(uint64_t replica, uint64_t round, uint64_t next_step) {
  if (!hold_ || hold_->sequence != round || hold_answer_)
    return;
  held_[replica] = next_step;
  answer_hold();
}

void node_state::answer_hold() {
  if (!hold_ || hold_answer_ || !takes_part() || (replicas_begun_ && awaits_held()))
    return;
  hold_answer answer{options_.self.name, view_.id, 0, {}};
  for (const auto& [replica, step] : held_)
    answer.next_step = std::max(answer.next_step, step);
  for (const auto& desk : desks_)
    answer.shard_versions.push_back(desk.version());
  hold_answer_ = answer;
  if (director_)
    self_->send(director_, answer);
}

// Of replicas each answers for itself, of trainers the keeper alone.
bool node_state::awaits_held() const {
  const auto asked = options_.kept
                       ? std::ptrdiff_t{keeper_is_here()}
                       : std::ranges::count(view_.replicas, *me_, &replica_place::member);
  return held_.size() < static_cast<size_t>(asked);
}

void node_state::repeat_results() {
  if (!director_)
    return;
  for (const auto& [version, row] : rows_)
    self_->send(director_, row);
  for (const auto& [version, mark] : marks_)
    self_->send(director_, mark);
  for (const auto& [key, result] : evaluations_)
    self_->send(director_, result);
  if (not_finite_)
    self_->send(director_, *not_finite_);
}

} // namespace troupe
