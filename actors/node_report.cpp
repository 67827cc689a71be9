// What a node says about its process.

#include "troupe/actors/node.hpp"

#include <algorithm>

namespace troupe {

// Replicas answer between two slices; until then what was heard last stands.
void node_state::ask_replicas() {
  last_report_ = self_->clock().now();
  if (statuses_missing_ > 0)
    return;
  statuses_missing_ = replicas_.size();
  asked_round_ = wanted_round_;
  const auto count_answer = [this] {
    if (--statuses_missing_ > 0)
      return;
    report();
    if (asked_round_ != wanted_round_)
      ask_replicas();
  };
  for (size_t i = 0; i < replicas_.size(); ++i)
    self_->request(replicas_[i], local_answer_deadline, atom::status_v)
      .then(
        [this, i, count_answer](const replica_status& status) {
          statuses_[i] = status;
          count_answer();
        },
        [count_answer](const caf::error&) { count_answer(); });
  if (replicas_.empty())
    report();
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
  for (const auto& desk : desks_)
    news.shard_versions.push_back(desk.version());
  news.replicas = statuses_;
  news.round = asked_round_;
  for (size_t i = 0; i < view_.members.size(); ++i)
    if (me_ && i != *me_ && !peers_.contains(view_.members[i].name))
      news.unreachable.push_back(view_.members[i].name);
  news.bytes_sent = bytes_sent_;
  news.resends = resends_;
  news.state = waits_for();
  self_->send(director_, news);
}

std::string node_state::waits_for() const {
  if (!takes_part())
    return "not in the view";
  if (restoring_)
    return "waits for the state of checkpoint " + std::to_string(restoring_->version()) +
           " from the director";
  if (hold_ && !hold_answer_)
    return "waits for replicas to finish their step";
  for (const auto& desk : desks_)
    for (size_t i = 0; i < view_.members.size(); ++i)
      for (const auto& place : view_.replicas) {
        if (i == *me_ || place.member != i || place.slices.empty())
          continue;
        const auto missing = desk.gathering.missing({place.slices});
        if (!missing.empty())
          return "shard " + std::to_string(desk.shard) + " waits for slice " +
                 std::to_string(missing.front().begin) + " of step " +
                 std::to_string(desk.version()) + " from " + view_.members[i].name;
      }
  if (computes() && options_.wired)
    for (const auto& elements : gathering_.missing())
      for (const auto& owner : owners_of(elements))
        return "waits for version " + std::to_string(gathering_.wanted().value_or(0)) + " from " +
               owner;
  return std::string{node_works};
}

} // namespace troupe
