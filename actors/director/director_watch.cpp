// Who does nothing, what waits in a circle, and what a stop does not wait for.

#include "troupe/actors/director/director.hpp"

#include <algorithm>

namespace troupe {

namespace {

/// Ticks come every 50 ms. After a pause like this one the director itself stood still, and what it
/// heard before says nothing of the others.
constexpr milliseconds own_pause{1'000};

/// A run that stands still at one version begins anew so often, then ends.
constexpr size_t standstills_max = 2;

} // namespace

// Of a process that is frozen as a whole its link tells; but who stops a run does not wait for it.
void director_state::see_to_hung(moment now) {
  if (now - std::exchange(last_tick_, now) > own_pause)
    return watch_.on_moved(now);
  if (options_.membership.expected.size() <= 1)
    return; // nobody could do its work
  const auto members = heard_members(now);
  for (const auto& who : members) {
    const auto report = reports_.find(who.name);
    if (report == reports_.end() || finished_)
      continue;
    const auto& work = report->second.news.work;
    if (watch_.hangs(work, works_on_stop()))
      take_out_hung(who.name, "its replicas have not answered for " + time_text(work.busy), now);
    else if (stop_asked_ && who.silence > work_watch::stop_patience + repeat_interval)
      take_out_hung(who.name, "nothing was heard of it for " + time_text(who.silence), now);
  }
}

void director_state::take_out_hung(const std::string& who, const std::string& why, moment now) {
  if (who != options_.membership.home)
    return carry_out(membership_->on_hung(who, why, now));
  if (stop_asked_)
    return end_at_checkpoint("this process hangs: " + why);
  fail(failure_code::internal, "this process hangs: " + why, {},
       "go on from the last checkpoint with --resume");
}

void director_state::see_to_standstill(moment now) {
  if (finished_ || waiting_ || options_.membership.expected.size() <= 1 || !is_still(now) ||
      !watch_.stands_still(now))
    return;
  watch_.on_moved(now);
  standstills_ = version_ == stood_at_ ? standstills_ + 1 : 1;
  stood_at_ = version_;
  const auto who = current_wait(now).text;
  if (stop_asked_)
    return end_at_checkpoint("nothing moved and nobody worked; " + who);
  if (standstills_ > standstills_max)
    return fail(failure_code::internal,
                "training stands still at version " + std::to_string(version_) + ": " + who, {},
                "please report this; go on from the last checkpoint with --resume");
  carry_out(membership_->on_standstill(
    "nothing moved for " + time_text(watch_.patience()) + " and nobody worked (" + who + ")", now));
}

// Who is missing may be about to come: all that start together meet within a second.
void director_state::see_to_stop(moment now) {
  if (!finished_ && stop_asked_ && waiting_ &&
      now - std::max(stop_asked_at_, waiting_->since) >= work_watch::stop_patience)
    end_at_checkpoint(waiting_->reason);
}

void director_state::end_at_checkpoint(const std::string& why) {
  if (!checkpoint_)
    return fail(failure_code::interrupted,
                (version_ == 0 ? "stopped before training began: "
                               : "stopped without a checkpoint to end at: ") +
                  why);
  remember_checkpoint();
  const auto& kept = rule_->kept();
  result_.end_version = checkpoint_->version;
  result_.version = kept ? kept->version : checkpoint_->version;
  result_.is_best = kept.has_value();
  result_.reason = static_cast<uint8_t>(stop_reason::interrupt);
  result_.seconds = checkpoint_->seconds;
  parameters_ = kept ? best_parameters_ : checkpoint_->parameters;
  tell("stopped at the last checkpoint, version " + std::to_string(checkpoint_->version) + ": " +
       why);
  publish_finished();
}

} // namespace troupe
