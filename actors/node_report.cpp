// What a node says about its process.

#include "troupe/actors/node.hpp"

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

// Replicas answer between two slices; until then what was heard last stands.
void node_state::ask_replicas() {
  last_report_ = self_->clock().now();
  if (answers_missing_ > 0)
    return;
  const auto book = who_counts();
  answers_missing_ = replicas_.size() + (book ? 1 : 0);
  asked_round_ = wanted_round_;
  const auto count_answer = [this] {
    if (--answers_missing_ > 0)
      return;
    report();
    if (asked_round_ != wanted_round_)
      ask_replicas();
  };
  const auto ignore = [count_answer](const caf::error&) { count_answer(); };
  for (size_t i = 0; i < replicas_.size(); ++i)
    self_->request(replicas_[i], local_answer_deadline, atom::status_v)
      .then(
        [this, i, count_answer](const replica_status& status) {
          statuses_[i] = status;
          count_answer();
        },
        ignore);
  if (book)
    self_->request(book, local_answer_deadline, atom::figures_v)
      .then(
        [this, count_answer](const trainer_figures& news) {
          figures_ = news;
          count_answer();
        },
        ignore);
  if (answers_missing_ == 0)
    report();
}

shard_actor node_state::who_counts() const {
  const auto first = std::ranges::find_if(
    view_.shards, [](const shard_place& place) { return !place.blocks.empty(); });
  const bool is_here = me_ && first != view_.shards.end() && first->member == *me_;
  return is_here ? shards_.at(first->index) : shard_actor{};
}

void node_state::report() {
  last_report_ = self_->clock().now();
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
  news.round = asked_round_;
  news.unreachable = unreachable_ = members_without_link();
  news.bytes_sent = bytes_sent_;
  news.bytes_early = bytes_early_;
  news.resends = resends_;
  news.waits = waits_for();
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
