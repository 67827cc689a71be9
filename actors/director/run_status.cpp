#include "actors/director/run_status.hpp"

#include "actors/run/explanation.hpp"
#include "coordinators/parallel/model_split.hpp"

#include <algorithm>
#include <chrono>
#include <set>

namespace troupe {

namespace {

/// An answer is read at a glance, and once a second.
constexpr size_t shown_links_max = 64;

double seconds_of(moment::duration time) {
  return std::chrono::duration<double>(time).count();
}

} // namespace

training_status run_status::status() const {
  const auto now = context_.now();
  const auto& plan = context_.options.rule.plan;
  const auto version = history_.version();
  training_status status;
  status.phase = phase_text();
  status.version = version;
  status.last_version = plan.last_version();
  status.epoch = version / plan.steps_in_epoch();
  status.epochs = plan.epoch_of(plan.last_version() - 1) + 1;
  status.seconds = context_.finished ? training_.result().seconds : context_.seconds_since_begin();
  status.steps_per_second = context_.finished ? 0 : history_.steps_per_second(now);
  status.samples_per_second = status.steps_per_second * static_cast<double>(plan.row_count) /
                              static_cast<double>(plan.steps_in_epoch());
  status.replicas = context_.view.replicas.size();
  status.shards = context_.view.shards.size();
  status.waits_for = waits_for(now);
  status.still = context_.begin && !context_.finished ? seconds_of(now - watch_.moved()) : 0;
  status.job_sha256 = context_.options.job_sha256;
  status.view = membership_.view_for_people();
  status.views = membership_.view_count();
  status.replicas_lost = roster_.replicas_lost();
  status.rollbacks = membership_.roll_back_count();
  if (is_still(now))
    status.late = holding_up(roster_.heard(context_.view, now));
  for (const auto& node : context_.options.membership.expected)
    status.nodes.push_back(status_of(node, now));
  status.figures = roster_.figures(context_.view, context_.options.membership.split);
  status.writes_for = seconds_of(writes_.silence(now));
  status.stranger = roster_.trouble_of({}, now);
  if (!context_.options.hides_work) {
    status.links = roster_.links().figures(now, shown_links_max);
    if (const auto slow = roster_.pace().slow(); slow && !context_.finished)
      status.slow = {*slow};
  }
  fill_in_results(status);
  return status;
}

// What everybody asks for: how well it learns, and how long it takes.
void run_status::fill_in_results(training_status& status) const {
  const auto& last = context_.last_progress;
  if (last.steps_in_epoch > 0) { // there was some
    status.train_loss = last.train_loss;
    status.train_accuracy = last.train_accuracy;
  }
  if (!history_.rows().empty())
    status.newest_row = {history_.rows().back()};
  if (context_.finished)
    return;
  status.learning_rate = history_.rate_at(status.version);
  if (status.steps_per_second > 0)
    status.seconds_left =
      static_cast<double>(status.last_version - std::min(status.version, status.last_version)) /
      status.steps_per_second;
}

std::string run_status::phase_text() const {
  const auto state = training_.state();
  const bool is_training =
    state == director_rule::phase::training || state == director_rule::phase::keeping;
  return training_.result().failed                                ? "failed"
         : context_.finished                                      ? "finished"
         : membership_.waiting() || context_.view.members.empty() ? "waiting"
         : is_training                                            ? "training"
                                                                  : "stopping";
}

node_status run_status::status_of(const expected_member& node, moment now) const {
  node_status result;
  result.name = node.name;
  result.is_director = node.name == context_.options.membership.home;
  result.replicas = node.replica_count;
  result.shards = node.shard_count;
  const auto way = context_.links.find(node.name);
  result.is_linked = way != context_.links.end();
  if (!result.is_linked)
    result.trouble = roster_.trouble_of(node.name, now);
  if (const auto* last = roster_.find(node.name)) {
    result.version = last->news.held;
    result.shard_versions = last->news.shard_versions;
    result.waits = last->news.waits;
    result.silence = seconds_of(now - last->at);
    for (const auto& replica : last->news.replicas)
      result.samples += replica.sample_count;
    result.wire = last->news.wire;
    result.pieces = last->news.work.pieces;
    result.late = seconds_of(last->news.work.late);
    if (context_.options.hides_work) {
      result.samples = 0;
      result.wire = {};
      result.pieces.clear();
      result.late = 0;
    }
  }
  const auto& view = context_.view;
  const auto place = view.find(node.name);
  if (!place || !result.is_linked)
    return result;
  result.takes_part = view.members[*place].incarnation == way->second.who.incarnation;
  result.replicas = view.members[*place].replica_count;
  result.shards = view.members[*place].shard_count;
  const auto& split = context_.options.membership.split;
  std::set<index_range> slices; // those of a group once
  for (const auto& replica : view.replicas) {
    if (replica.member != *place)
      continue;
    if (slices.insert(replica.slices).second)
      result.slices += replica.slices.size();
    if (split.splits())
      result.partitions.push_back(partition_text(replica.work(), split));
  }
  for (const auto& shard : view.shards)
    result.spans += shard.member == *place && !shard.blocks.empty() ? 1 : 0;
  return result;
}

// Who is waited for, by name, as far as anybody said so.
std::string run_status::waits_for(moment now) const {
  if (context_.finished)
    return {};
  if (!context_.begin)
    return "begin";
  if (writes_.is_writing_term())
    return std::string{term_to_be_written};
  if (const auto& waiting = membership_.waiting())
    return waiting->reason;
  if (const auto late = holding_up(roster_.heard(context_.view, now));
      is_still(now) && !late.empty())
    return waiting_text(late);
  const bool is_ending = training_.state() == director_rule::phase::ending;
  if (tensors_.is_behind() || (is_ending && writes_.is_writing()))
    return std::string{checkpoint_to_be_written};
  switch (training_.state()) {
  case director_rule::phase::training:
    return "step " + std::to_string(history_.version());
  case director_rule::phase::holding:
    return "replicas to finish their step";
  case director_rule::phase::keeping:
    return "the parameters of the best version";
  case director_rule::phase::ending:
    return "the result and what everybody did";
  }
  return {};
}

bool run_status::is_still(moment now) const {
  return context_.begin && !context_.finished && watch_.is_still(now);
}

current_wait run_status::wait(moment now) const {
  if (const auto& waiting = membership_.waiting(); waiting && !writes_.is_writing_term()) {
    const auto left = waiting->since + context_.options.membership.join_timeout - now;
    return {waiting->reason, waiting->since,
            joining_text(waiting->names, std::chrono::duration_cast<milliseconds>(left)) +
              (waiting->need.empty() ? "" : ": " + waiting->need)};
  }
  const auto late = holding_up(roster_.heard(context_.view, now));
  if (late.empty() || writes_.is_writing_term())
    return {phase_text(), watch_.moved(), "waiting for " + waits_for(now)};
  std::string who;
  for (const auto& x : late)
    who += x.name + ' ';
  return {who, watch_.moved(), waiting_text(late)};
}

} // namespace troupe
