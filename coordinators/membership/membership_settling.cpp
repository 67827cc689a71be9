// What the membership rule does with the present members: terms, views, waits, the end.

#include "coordinators/membership/membership_rule.hpp"
#include "coordinators/membership/view_placement.hpp"
#include "coordinators/step/placement.hpp"
#include "models/base/listed.hpp"

#include <algorithm>
#include <utility>

namespace troupe {

namespace {

std::string seconds_of(milliseconds time) {
  const auto whole = time.count() / 1000;
  const auto rest = time.count() % 1000;
  return rest == 0 ? std::to_string(whole) + " s" : std::to_string(time.count()) + " ms";
}

/// "a group needs 4 replicas (tensor 2, pipeline 2), 3", to be ended by where these are.
std::string group_need(const model_split& split, const std::vector<member>& present) {
  const auto& shape = split.shape;
  return "a group needs " + std::to_string(shape.group_size()) + " replicas (tensor " +
         std::to_string(shape.tensor) + ", pipeline " + std::to_string(shape.pipeline) + "), " +
         std::to_string(replicas_of(present));
}

} // namespace

void membership_rule::evict_unreachable(membership_decisions& out) {
  for (;;) {
    const auto overdue = std::ranges::find_if(broken_, [&](const auto& entry) {
      return entry.second.last - entry.second.since >= options_.lost_after;
    });
    if (overdue == broken_.end())
      return;
    const auto broken = overdue->first;
    const auto name = to_evict(broken);
    const auto& other = name == broken.first ? broken.second : broken.first;
    const auto why = name + " was taken out: no link between it and " + other + " for " +
                     seconds_of(options_.lost_after);
    take_out(name, why, out);
  }
}

void membership_rule::take_out(const std::string& name, const std::string& why,
                               membership_decisions& out) {
  const auto order = *order_of(name);
  out.push_back(turn_away{name, members_[order]->incarnation, why});
  remove(order, why);
  outside_.on_taken_out(name, now_);
}

membership_decisions membership_rule::settle(membership_decisions out) {
  if (phase_ == phase::stopped)
    return {};
  evict_unreachable(out);
  admit_waiting(out);
  if (phase_ == phase::joining)
    start_if_due();
  else
    fill_gaps();
  if (phase_ == phase::restarting)
    go_on_to_new_term(out);
  else if (phase_ == phase::running)
    publish_if_changed(out);
  wait_if_lacking(out);
  return out;
}

void membership_rule::start_if_due() {
  const auto missing = missing_names();
  const bool overdue = now_ - *lacking_since_ >= options_.join_timeout;
  const auto with_spares = std::min(present().size(), expected_count());
  const bool has_settled = options_.min_nodes && outside_.empty() &&
                           with_spares >= std::min(*options_.min_nodes, expected_count()) &&
                           now_ - joined_at_ >= options_.settle;
  if (!missing.empty() && !overdue && !has_settled)
    return;
  why_.clear();
  fill_gaps();
  if (!lacking().empty() || is_too_few())
    return;
  const auto stand_ins = why_.empty() ? "" : "; " + why_;
  why_ = missing.empty() ? "everybody is here"
                         : "starting without " + listed(missing) +
                             (overdue ? ": not joined within " + seconds_of(options_.join_timeout)
                                      : ": nobody came for " + seconds_of(options_.settle)) +
                             stand_ins;
  phase_ = phase::restarting;
  lacking_since_.reset();
}

void membership_rule::go_on_to_new_term(membership_decisions& out) {
  if (lacks_shard() || !can_place(options_.split, options_.holders, present()))
    return;
  if (asked_term_ == known_term_)
    out.push_back(persist_term{++asked_term_, why_});
  if (auto names = restart_.question.due(view_, present(), asked_term_, now_); !names.empty())
    out.push_back(ask_copies{asked_term_, std::move(names)});
  if (persisted_term_ == known_term_ || !restart_.question.is_over(now_))
    return;
  known_term_ = persisted_term_;
  phase_ = phase::running;
  newcomers_.clear();
  wish_.reset();
  auto view = place_anew(present(), options_.slice_count, options_.parameter_count, options_.split,
                         options_.holders, speeds_);
  if (options_.has_one_owner) {
    view.shards.resize(1);
    view.shards.front().blocks = {0, block_count(options_.parameter_count)};
  }
  view.id = {known_term_, 1};
  view.start_version = restart_.checkpoint;
  const auto cut =
    newest_cut(restart_.question.answers_of(view.members), block_count(options_.parameter_count),
               {std::max(restart_.cuts.begin, size_t{restart_.checkpoint} + 1), restart_.cuts.end});
  if (cut) {
    view.start_version = cut->version;
    view.holders = cut->holders;
  }
  restart_.question.end();
  plan_copies(view, options_.copies);
  announce(std::move(view), true, out);
}

void membership_rule::publish_if_changed(membership_decisions& out) {
  auto members = present();
  const auto caught_up = std::erase_if(newcomers_, [this](const auto& entry) {
    const auto& [name, one] = entry;
    const bool is_late = now_ - one.since >= options_.lost_after;
    if (one.has_version)
      note(name + " has the newest version");
    else if (is_late)
      note(name + " got no version in " + seconds_of(options_.lost_after) +
           ", so training waits for it");
    return one.has_version || is_late;
  });
  const bool changes = members != view_->members || caught_up > 0 || wish_;
  if (!changes || !can_place(options_.split, options_.holders, members))
    return;
  slice_wishes wishes{{}, speeds_, std::exchange(wish_, std::nullopt)};
  for (const auto& [name, one] : newcomers_)
    wishes.newcomers.insert(name);
  announce(place_again(*view_, std::move(members), options_.slice_count, options_.split,
                       options_.holders, wishes),
           false, out);
}

void membership_rule::announce(cluster_view view, bool restarts, membership_decisions& out) {
  view_ = std::move(view);
  auto reason = std::exchange(why_, {});
  if (restarts)
    reason += "; training starts from version " + std::to_string(view_->start_version);
  out.push_back(publish{*view_, restarts, std::move(reason)});
}

void membership_rule::wait_if_lacking(membership_decisions& out) {
  const auto what = lacking();
  if (phase_ != phase::joining && what.empty()) {
    lacking_since_.reset();
    told_.reset();
    return;
  }
  if (!lacking_since_)
    lacking_since_ = now_;
  const auto missing = missing_names();
  if (now_ - *lacking_since_ >= options_.join_timeout)
    return stop(give_up{why_it_ends(what)}, out);
  auto why = "waiting for " + (missing.empty() ? "a process" : listed(missing));
  std::string need;
  if (!options_.holders.empty() && !can_place({}, options_.holders, present()))
    why += ": nobody here has " + (need = rows_need(options_.holders, present()));
  else if (!can_place(options_.split, options_.holders, present()))
    why += ": " + (need = group_need(options_.split, present()) + " are here");
  else if (!what.empty())
    why += "; nobody here has " + what;
  else if (options_.min_nodes && !is_too_few() && !missing.empty())
    why += "; training begins without once nobody has come for " + seconds_of(options_.settle);
  const wait_for waiting{missing, *lacking_since_, why, need};
  if (waiting != told_)
    out.push_back(waiting);
  told_ = waiting;
}

std::string membership_rule::why_it_ends(const std::string& lacks) const {
  const auto missing = missing_names();
  const auto names = missing.empty() ? "" : "; missing: " + listed(missing);
  if (!lacks.empty())
    return (can_place(options_.split, options_.holders, present()) || !options_.holders.empty()
              ? "no process with " + lacks + " was"
              : group_need(options_.split, present()) + " were") +
           " there for " + seconds_of(options_.join_timeout) + names +
           ". Start one, or raise timeouts.join";
  return "only " + std::to_string(expected_count() - missing.size()) + " of " +
         std::to_string(expected_count()) + " nodes came within " +
         seconds_of(options_.join_timeout) + names +
         ". Start them, raise timeouts.join, or say with min_nodes how many are enough";
}

void membership_rule::stop(membership_decision last, membership_decisions& out) {
  phase_ = phase::stopped;
  told_.reset();
  out.push_back(std::move(last));
}

} // namespace troupe
