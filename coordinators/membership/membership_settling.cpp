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

/// When a cut that is still wanted is asked for again: the director may have been busy with a row.
constexpr milliseconds cut_again{200};

/// "a group needs 4 replicas (tensor 2, pipeline 2), 3", to be ended by where these are.
std::string group_need(const model_split& split, const std::vector<member>& present) {
  const auto& shape = split.shape;
  return "a group needs " + std::to_string(shape.group_size()) + " replicas (tensor " +
         std::to_string(shape.tensor) + ", pipeline " + std::to_string(shape.pipeline) + "), " +
         std::to_string(replicas_of(present));
}

/// These members can train, and begin terms.
bool can_go_on(const std::vector<member>& members, const membership_options& options) {
  const bool has_decider =
    options.decider.empty() || std::ranges::count(members, options.decider, &member::name) > 0;
  return has_decider && replicas_of(members) > 0 &&
         can_place(options.split, options.holders, members) &&
         std::ranges::any_of(members, [](const member& who) { return who.shard_count > 0; });
}

/// Members that have no spans in this view, and would get some in the next.
std::string without_spans(const cluster_view& view, const cluster_view& next) {
  std::vector<std::string> result;
  for (size_t i = 0; i < next.members.size(); ++i)
    if (const auto place = view.find(next.members[i].name);
        next.holds_spans(i) && place && !view.holds_spans(*place))
      result.push_back(next.members[i].name);
  return listed(result);
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
  out.push_back(turn_away{name, find(name)->incarnation, why});
  remove(name, why);
  outside_.on_taken_out(name, now_);
}

membership_decisions membership_rule::settle(membership_decisions out) {
  if (phase_ == phase::stopped)
    return {};
  evict_unreachable(out);
  admit_waiting(out);
  let_go(out);
  if (phase_ == phase::joining)
    start_if_due();
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
  const bool has_settled =
    options_.min_nodes && outside_.empty() && now_ - joined_at_ >= options_.settle;
  const bool awaits = !missing.empty() || (options_.min_nodes && options_.lets_join);
  if ((awaits && !overdue && !has_settled) || is_too_few() || !lacking().empty())
    return;
  why_ = missing.empty() ? "everybody is here"
                         : "starting without " + listed(missing) +
                             (overdue ? ": not joined within " + seconds_of(options_.join_timeout)
                                      : ": nobody came for " + seconds_of(options_.settle));
  phase_ = phase::restarting;
  lacking_since_.reset();
}

void membership_rule::let_go(membership_decisions& out) {
  const bool somebody_leaves = leaving_ != leave_rule{};
  if (somebody_leaves && phase_ != phase::joining && !can_go_on(present(), options_))
    leaving_.take_back();
  std::string wanted;
  for (const auto& name : leaving_.may_go(
         [this] { return present(); }, [this](const auto& x) { return can_go_on(x, options_); })) {
    const bool runs = phase_ == phase::running;
    const bool keeps_spans = phase_ == phase::restarting || (runs && is_costly(name));
    if (phase_ != phase::restarting && !leaving_.has_waited(name, options_.leave_patience, now_))
      continue;
    if (keeps_spans && options_.copies.are_possible) {
      if (runs && !leaving_.is_out(name))
        wanted += (wanted.empty() ? "" : ", ") + name;
      else if (!runs)
        leaving_.set_out(name);
    } else {
      out.push_back(turn_away{name, find(name)->incarnation, name + " left", true});
      remove(name, name + " left");
    }
  }
  if (phase_ != phase::running)
    return;
  const bool may_spread = options_.copies.are_possible && !options_.has_one_owner;
  if (!wanted.empty())
    wanted += " leaves";
  else if (may_spread && restart_.spread_at && now_ >= *restart_.spread_at) {
    wanted =
      without_spans(*view_, place_anew(present(), options_.slice_count, options_.parameter_count,
                                       options_.split, options_.holders, speeds_));
    if (wanted.empty())
      restart_.spread_at.reset();
    else
      wanted = "spans for " + wanted;
  }
  if (wanted.empty() || (restart_.stand_asked && now_ - *restart_.stand_asked < cut_again))
    return;
  restart_.stand_asked = now_;
  restart_.stand_why = wanted;
  out.push_back(ask_cut{wanted});
}

void membership_rule::go_on_to_new_term(membership_decisions& out) {
  if (lacks_shard() || !can_place(options_.split, options_.holders, present()))
    return;
  if (terms_.asked == terms_.known)
    out.push_back(persist_term{++terms_.asked, why_});
  if (auto names =
        restart_.question.due(view_, present(), terms_.asked, restart_.stand.has_value(), now_);
      !names.empty())
    out.push_back(ask_copies{terms_.asked, std::move(names)});
  if (terms_.persisted == terms_.known || !restart_.question.is_over(now_))
    return;
  const auto cut =
    newest_cut(restart_.question.answers_of(present()), block_count(options_.parameter_count),
               {std::max(restart_.cuts.begin, size_t{restart_.checkpoint} + 1), restart_.cuts.end});
  if (restart_.stand && (!cut || cut->version < *restart_.stand) &&
      restart_.checkpoint != *restart_.stand)
    return; // what all have at this version is still being kept
  terms_.known = terms_.persisted;
  phase_ = phase::running;
  newcomers_.clear();
  wish_.reset();
  auto view = place_anew(present(), options_.slice_count, options_.parameter_count, options_.split,
                         options_.holders, speeds_);
  if (options_.has_one_owner) {
    view.shards.resize(1);
    view.shards.front().blocks = {0, block_count(options_.parameter_count)};
  }
  view.id = {terms_.known, 1};
  view.start_version = restart_.checkpoint;
  if (cut) {
    view.start_version = cut->version;
    view.holders = cut->holders;
  }
  restart_.question.end();
  restart_.stand_asked.reset();
  plan_copies(view, options_.copies);
  announce(std::move(view), true, out);
  restart_.stand.reset();
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
  slice_wishes wishes{{}, speeds_, wish_ ? wish_->tried : std::nullopt};
  wish_.reset();
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
  out.push_back(publish{*view_, restarts, std::move(reason), restarts && restart_.stand});
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
  else if (phase_ == phase::joining && missing.empty() && is_too_few())
    why += ": " + (need = std::to_string(working_count()) + " of " +
                          std::to_string(needed_count()) + " nodes are here");
  else if (options_.min_nodes && !is_too_few())
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
  const auto here = options_.min_nodes ? working_count() : needed_count() - missing.size();
  return "only " + std::to_string(here) + " of " + std::to_string(needed_count()) +
         " nodes came within " + seconds_of(options_.join_timeout) + names +
         ". Start them, raise timeouts.join, or say with min_nodes how many are enough";
}

void membership_rule::stop(membership_decision last, membership_decisions& out) {
  phase_ = phase::stopped;
  told_.reset();
  out.push_back(std::move(last));
}

} // namespace troupe
