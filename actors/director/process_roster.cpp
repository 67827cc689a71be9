#include "actors/director/process_roster.hpp"

#include "coordinators/step/placement.hpp"

#include <chrono>

namespace troupe {

namespace {

/// A linking attempt is repeated at least every 2 s and then reports again; older trouble gets its
/// age.
constexpr milliseconds trouble_is_new_for{3'000};

} // namespace

void process_roster::on_link(const std::string& who, moment now) {
  processes_[who] = {now, std::nullopt};
  troubles_.erase(who);
}

void process_roster::on_link_lost(const std::string& who, uint64_t replica_count) {
  const auto* last = find(who);
  const auto known_lost = last ? last->news.replicas_lost : 0;
  replicas_lost_ += replica_count - std::min(known_lost, replica_count);
  processes_.erase(who);
  links_.on_lost(who);
}

void process_roster::on_trouble(const std::string& who, const std::string& why, moment now) {
  troubles_[who] = {why, now};
}

std::string process_roster::trouble_of(const std::string& who, moment now) const {
  const auto found = troubles_.find(who);
  if (found == troubles_.end())
    return {};
  const auto age = std::chrono::duration_cast<milliseconds>(now - found->second.at);
  return found->second.why + (age < trouble_is_new_for ? "" : " (" + time_text(age) + " ago)");
}

report_change process_roster::on_report(const node_report& news, moment now) {
  auto& last = processes_[news.name].last;
  const auto before = last ? last->news : node_report{};
  report_change result;
  result.moved = before.held != news.held || before.shard_versions != news.shard_versions;
  result.sent =
    before.wire.bytes_sent != news.wire.bytes_sent && before.wire.resends == news.wire.resends;
  for (const auto& peer : before.unreachable)
    if (std::ranges::find(news.unreachable, peer) == news.unreachable.end())
      result.reachable.push_back(peer);
  replicas_lost_ += news.replicas_lost - std::min(before.replicas_lost, news.replicas_lost);
  last = {news, now};
  links_.on_report(news.name, news.links, now);
  return result;
}

void process_roster::on_view(const cluster_view& view) {
  for (const auto& who : view.members)
    took_part_.insert(who.name);
}

const heard_report* process_roster::find(const std::string& who) const {
  const auto found = processes_.find(who);
  return found != processes_.end() && found->second.last ? &*found->second.last : nullptr;
}

std::vector<heard_process> process_roster::heard(const cluster_view& view, moment now) const {
  std::vector<heard_process> result;
  for (const auto& who : view.members) {
    const auto found = processes_.find(who.name);
    if (found == processes_.end())
      continue;
    const auto& last = found->second.last;
    const auto silence = now - (last ? last->at : found->second.since);
    result.push_back({who.name, last ? last->news.waits : std::vector<awaited>{},
                      std::chrono::duration_cast<milliseconds>(silence),
                      last ? last->news.work.busy : milliseconds{0}});
  }
  return result;
}

bool process_roster::has_counted(const cluster_view& view, uint64_t round) const {
  return std::ranges::all_of(view.members, [&](const member& who) {
    const auto* last = find(who.name);
    return who.replica_count + who.shard_count == 0 || (last && last->news.round >= round);
  });
}

void process_roster::sample_pace(const cluster_view& view, const model_split& split, moment now) {
  if (pace_.is_due(now))
    pace_.on_figures(figures(view, split).replicas, now);
}

std::vector<replica_status> process_roster::work_of_replicas(const cluster_view& view) const {
  std::vector<replica_status> result;
  for (const auto& place : view.replicas) {
    const auto* last = find(view.members[place.member].name);
    const bool known = last && place.index < last->news.replicas.size();
    result.push_back(known ? last->news.replicas[place.index] : replica_status{});
  }
  return result;
}

trainer_figures process_roster::figures(const cluster_view& view, const model_split& split) const {
  trainer_figures result;
  for (const auto& [who, one] : processes_)
    if (one.last && result.replicas.empty() && result.left_out.empty() && !result.clients.privacy)
      result = one.last->news.figures;
  if (!split.splits())
    return result;
  const auto work = work_of_replicas(view);
  std::vector<reported_waits> told;
  for (size_t i = 0; i < view.replicas.size(); ++i)
    if (!view.replicas[i].segments.empty())
      told.push_back({{view.members[view.replicas[i].member].name, view.replicas[i].index},
                      work[i].steps_executed,
                      work[i].waits});
  count_waits(result.replicas, told);
  for (auto& one : result.replicas)
    for (const auto& place : view.replicas)
      if (view.members[place.member].name == one.who.process && place.index == one.who.index)
        one.partition = partition_text(place.work(), split);
  return result;
}

void process_roster::fill_in(training_finished& result, const cluster_view& view,
                             const membership_options& options) const {
  result.replicas = work_of_replicas(view);
  result.figures = figures(view, options.split);
  for (const auto& place : view.shards)
    if (const auto elements = elements_of_blocks(place.blocks, options.parameter_count);
        !elements.empty())
      result.spans[view.members[place.member].name] += elements.size();
  result.nodes = took_part_.size();
  result.replicas_here = view.replicas.size();
  for (const auto& [who, one] : processes_)
    if (one.last)
      result.wire += one.last->news.wire;
}

} // namespace troupe
