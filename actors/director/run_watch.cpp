#include "actors/director/run_watch.hpp"

#include "actors/director/director_options.hpp"

#include <algorithm>
#include <utility>

namespace troupe {

namespace {

/// In one process nobody waits for a wire: what takes long is a long step, which is no news.
constexpr milliseconds alone_patience{10'000};

/// A run that stands still at one version begins anew so often, then ends.
constexpr size_t standstills_max = 2;

} // namespace

run_watch::run_watch(const membership_options& options)
  : is_alone_(options.expected.size() <= 1),
    work_(options.lost_after),
    teller_(is_alone_ ? alone_patience : wait_reporter::patience_default) {}

void run_watch::on_view(moment now) {
  moved_ = now;
  work_.on_moved(now);
}

void run_watch::on_report(const report_change& change, const work_report& work, moment now) {
  if (change.moved)
    moved_ = now;
  if (change.moved || change.sent)
    work_.on_moved(now);
  work_.on_report(work, now);
}

bool run_watch::is_still(moment now) const {
  return now - moved_ >= repeat_interval;
}

std::vector<hung_process> run_watch::look_for_hung(const process_roster& roster,
                                                   const cluster_view& view, moment now) {
  std::vector<hung_process> result;
  if (now - std::exchange(last_look_, now) > own_pause) {
    work_.on_moved(now);
    return result;
  }
  if (is_alone_)
    return result;
  // Processes report each second.
  const auto silence_limit = stop_asked() ? work_watch::stop_patience + repeat_interval
                             : is_still(now) && work_.stands_still(now) ? work_.patience() / 2
                                                                        : milliseconds::max();
  for (const auto& who : roster.heard(view, now)) {
    const auto* last = roster.find(who.name);
    if (last && hangs(last->news.work))
      result.push_back(
        {who.name, "its replicas have not answered for " + time_text(last->news.work.busy)});
    else if (who.silence > silence_limit)
      result.push_back({who.name, "nothing was heard of it for " + time_text(who.silence)});
  }
  return result;
}

bool run_watch::stands_still(uint64_t version, moment now) {
  if (is_alone_ || !is_still(now) || !work_.stands_still(now))
    return false;
  work_.on_moved(now);
  standstills_ = version == stood_at_ ? standstills_ + 1 : 1;
  stood_at_ = version;
  return true;
}

bool run_watch::has_stood_too_often() const {
  return standstills_ > standstills_max;
}

bool run_watch::is_stop_due(moment missing_since, moment now) const {
  return stop_asked_at_ &&
         now - std::max(*stop_asked_at_, missing_since) >= work_watch::stop_patience;
}

std::optional<milliseconds> run_watch::wait_over(moment now) {
  return teller_.over(now);
}

bool run_watch::is_long_step(const process_roster& roster) const {
  return roster.any_of([this](const node_report& x) { return work_.works_as_usual(x.work); });
}

bool run_watch::is_wait_due(const std::string& who, moment since, moment now) {
  return teller_.is_due(who, since, now);
}

} // namespace troupe
