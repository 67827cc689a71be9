// What a node says about its process.

#include "troupe/actors/node/node.hpp"

#include <algorithm>

namespace troupe {

namespace {

/// "slice 2", "slices 2-3, 6".
std::string slices_text(const std::vector<index_range>& ranges) {
  std::string list;
  size_t count = 0;
  for (const auto& range : ranges) {
    count += range.size();
    list += (list.empty() ? "" : ", ") + std::to_string(range.begin) +
            (range.size() > 1 ? "-" + std::to_string(range.end - 1) : "");
  }
  return (count == 1 ? "slice " : "slices ") + list;
}

} // namespace

void node_state::report_soon() {
  last_report_ = self_->clock().now();
  report_is_due_ = true;
  for (size_t i = 0; i < asked_.size(); ++i)
    ask_actor(i);
  if (everybody_answered())
    report();
}

// Who computes answers after it; until then what was heard last stands.
void node_state::ask_actor(size_t index) {
  auto& x = asked_[index];
  if (x.since || lost_replicas_.contains(index))
    return;
  x.since = self_->clock().now();
  x.asked_round = wanted_round_;
  const auto ignore = [this, index](const caf::error&) { on_actor_heard(index); };
  if (index < replicas_.size()) {
    self_->request(replicas_[index], local_answer_deadline, atom::status_v)
      .then(
        [this, index](const replica_status& status) {
          statuses_[index] = status;
          on_actor_heard(index);
        },
        ignore);
    return;
  }
  const auto& shard = shards_[index - replicas_.size()];
  self_->request(shard, local_answer_deadline, atom::figures_v)
    .then(
      [this, index, shard](const trainer_figures& news) {
        if (shard == who_counts())
          figures_ = news;
        on_actor_heard(index);
      },
      ignore);
}

void node_state::on_actor_heard(size_t index) {
  auto& x = asked_[index];
  x.since.reset();
  x.heard_round = x.asked_round;
  if (x.heard_round < wanted_round_)
    return ask_actor(index);
  if (report_is_due_ && everybody_answered())
    report();
}

bool node_state::everybody_answered() const {
  return std::ranges::none_of(asked_, [](const asked_actor& x) { return x.since.has_value(); });
}

uint64_t node_state::heard_round() const {
  auto result = wanted_round_;
  for (size_t i = 0; i < asked_.size(); ++i)
    if (!lost_replicas_.contains(i))
      result = std::min(result, asked_[i].heard_round);
  return result;
}

// At a piece of work, or without an answer while no other replica here has ended a piece: what an
// actor waits for may be the thread that another computes on.
work_report node_state::work_of_actors() const {
  work_report result;
  const auto now = self_->clock().now();
  const auto note = [&](moment::duration busy) {
    result.busy = std::max(result.busy, std::chrono::duration_cast<milliseconds>(busy));
  };
  moment changed{};
  for (const auto& gauge : options_.gauges) {
    changed = std::max(changed, gauge->changed());
    result.longest = std::max(result.longest, std::chrono::ceil<milliseconds>(gauge->longest()));
    if (const auto since = gauge->since())
      note(now - *since);
  }
  for (const auto& x : asked_)
    if (x.since)
      note(now - std::max(*x.since, changed));
  return result;
}

shard_actor node_state::who_counts() const {
  const auto first = std::ranges::find_if(
    view_.shards, [](const shard_place& place) { return !place.blocks.empty(); });
  const bool is_here = me_ && first != view_.shards.end() && first->member == *me_;
  return is_here ? shards_.at(first->index) : shard_actor{};
}

void node_state::report() {
  last_report_ = self_->clock().now();
  report_is_due_ = false;
  if (!director_)
    return;
  node_report news;
  news.name = options_.self.name;
  news.incarnation = options_.self.incarnation;
  news.view = view_.id;
  news.held = gathering_.held();
  for (const auto& desk : desks_) // a keeper's versions come here by its reports alone
    news.shard_versions.push_back(options_.kept ? std::max(desk.version(), kept_version_)
                                                : desk.version());
  news.replicas = statuses_;
  news.round = heard_round();
  news.unreachable = unreachable_ = members_without_link();
  news.bytes_sent = bytes_sent_;
  news.bytes_early = bytes_early_;
  news.resends = resends_;
  news.waits = waits_for();
  news.work = work_of_actors();
  news.replicas_lost = lost_replicas_.size();
  if (who_counts())
    news.figures = figures_;
  self_->send(director_, news);
}

std::vector<std::string> node_state::members_without_link() const {
  std::vector<std::string> result;
  for (size_t i = 0; i < view_.members.size(); ++i)
    if (me_ && i != *me_ && !peers_.contains(view_.members[i].name))
      result.push_back(view_.members[i].name);
  return result;
}

// Only what is late by itself: at the horizon nobody computes, and nothing of the step is missed.
std::vector<awaited> node_state::waits_for() const {
  if (!misfit_.empty())
    return {{"", "a view that it can follow: " + misfit_}};
  if (!takes_part())
    return {{"", "its place in the view"}};
  if (restoring_)
    return {{"", "the state of checkpoint " + std::to_string(restoring_->version()) +
                   " from the director"}};
  if (hold_ && !hold_answer_)
    return {{"", "replicas to finish their step"}};
  auto result = orders_.waits(self_->clock().now());
  for (const auto& desk : desks_)
    if (!options_.kept && (!has_course_ || desk.version() < course_.rule.version))
      add_waits_of(desk, result);
  const auto is_awaited = [&](const std::string& who) {
    return std::ranges::find(result, who, &awaited::from) != result.end();
  };
  // Who lacks gradients of somebody cannot have that one's parameters.
  const auto wanted = gathering_.wanted();
  if (computes() && marches() && wanted && (!has_course_ || *wanted <= course_.rule.version))
    for (const auto& elements : gathering_.missing())
      for (const auto& owner : owners_of(elements))
        if (owner != options_.self.name && !is_awaited(owner))
          result.push_back({owner, "parameters of version " + std::to_string(*wanted)});
  return result;
}

void node_state::add_waits_of(const shard_desk& desk, std::vector<awaited>& out) const {
  const auto step = std::to_string(desk.version());
  for (size_t i = 0; i < view_.members.size(); ++i) {
    std::vector<index_range> slices;
    for (const auto& place : view_.replicas)
      if (i != *me_ && place.member == i && !place.slices.empty())
        slices.push_back(place.slices);
    const auto missing = slices.empty() ? slices : desk.gathering.missing(slices);
    if (!missing.empty())
      out.push_back(
        {view_.members[i].name, "gradients of step " + step + ", " + slices_text(missing)});
  }
}

} // namespace troupe
