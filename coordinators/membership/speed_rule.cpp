#include "coordinators/membership/speed_rule.hpp"

#include <algorithm>
#include <cmath>

namespace troupe {

namespace {

bool is_next(const view_number& x, const view_number& before) {
  return x.term == before.term && x.number == before.number + 1;
}

} // namespace

void speed_rule::on_report(const member& who, const std::vector<computed_slices>& replicas,
                           uint64_t version, moment now) {
  version_ = std::max(version_, version);
  for (size_t i = 0; i < replicas.size(); ++i) {
    auto& x = replicas_[{who.name, i}];
    if (replicas[i].time < x.last.time.zero())
      continue; // no clock says so
    if (x.incarnation != who.incarnation || replicas[i].count < x.last.count ||
        replicas[i].time < x.last.time)
      x = {who.incarnation, replicas[i], replicas[i], 0, now};
    x.last = replicas[i];
  }
}

void speed_rule::begin_window(moment now) {
  window_ = pace{now, version_};
  for (auto& [name, x] : replicas_)
    x.before = x.last;
}

double speed_rule::steps_per_second(moment now) const {
  return static_cast<double>(version_ - window_->version) /
         std::chrono::duration<double>(now - window_->since).count();
}

bool speed_rule::is_long_enough(moment now) const {
  const auto steps = version_ - window_->version;
  const auto time = now - window_->since;
  return tries_ ? steps >= options_.steps_min / 4 && time >= options_.window / 4
                : steps >= options_.steps_min && time >= options_.window;
}

replica_speeds speed_rule::measure(const cluster_view& view, moment now) {
  replica_speeds result;
  for (const auto& place : view.replicas) {
    const auto found = replicas_.find({view.members[place.member].name, place.index});
    if (found == replicas_.end())
      continue;
    auto& x = found->second;
    const auto count = x.last.count - x.before.count;
    const auto time = std::chrono::duration<double>(x.last.time - x.before.time).count();
    if (count > 0 && time > 0) {
      x.speed = static_cast<double>(count) / time;
      x.measured = now;
    }
    if (x.speed > 0)
      result[found->first] = x.speed;
  }
  return result;
}

std::optional<replica_key> speed_rule::trial(const cluster_view& view, moment now) {
  std::optional<replica_key> result;
  bool all_compute = true;
  const bool one_can_give = std::ranges::any_of(
    view.replicas, [](const replica_place& place) { return place.slices.size() > 1; });
  for (const auto& place : view.replicas) {
    if (!place.slices.empty())
      continue;
    all_compute = false;
    const auto x = replicas_.find({view.members[place.member].name, place.index});
    if (!result && one_can_give && x != replicas_.end() && now - x->second.measured >= trial_wait_)
      result = x->first;
  }
  trial_wait_ = all_compute ? trial_wait_min()
                : result    ? std::min(2 * trial_wait_, options_.wait_max)
                            : trial_wait_;
  return result;
}

std::optional<speed_wish> speed_rule::due(const cluster_view& view, moment now) {
  if (std::exchange(view_, view.id) != view.id) {
    window_.reset();
    seen_at_.reset();
    version_ = 0; // a roll-back may have undone it
    tries_ = tries_ && is_next(view.id, tried_in_);
  }
  if (!window_) {
    if (version_ > 0)
      begin_window(now);
    return std::nullopt;
  }
  if (!is_long_enough(now))
    return std::nullopt;
  const auto pace_now = steps_per_second(now);
  const auto speeds = measure(view, now);
  begin_window(now);
  if (std::exchange(tries_, false))
    return speed_wish{in_force_ = speeds};
  if (const auto last = std::exchange(move_, std::nullopt); last && is_next(view.id, last->from)) {
    if (pace_now < (1 + kept_min) * last->pace) {
      not_before_ = now + wait_;
      wait_ = std::min(2 * wait_, options_.wait_max);
      return speed_wish{in_force_ = last->speeds};
    }
    wait_ = options_.wait_min;
  }
  if (now < not_before_ || !gains(view, speeds, gain_min, holders_))
    seen_at_.reset();
  else if (now - *(seen_at_ = seen_at_.value_or(now)) >= options_.wait_min) {
    seen_at_.reset();
    move_ = move{view.id, pace_now, std::exchange(in_force_, speeds)};
    return speed_wish{speeds};
  }
  const auto tried = trial(view, now);
  tries_ = tried.has_value();
  tried_in_ = view.id;
  return tried ? std::optional{speed_wish{in_force_ = speeds, tried}} : std::nullopt;
}

std::string words_of(const replica_speeds& speeds) {
  std::map<std::string, double> processes;
  double fastest = 0;
  for (const auto& [who, speed] : speeds)
    fastest = std::max(fastest, processes[who.first] += speed);
  std::string result;
  for (const auto& [name, speed] : processes) {
    const auto hundredths = std::lround(100 * speed / fastest);
    const auto text = std::to_string(hundredths / 100) + "." + (hundredths % 100 < 10 ? "0" : "") +
                      std::to_string(hundredths % 100);
    result += (result.empty() ? "" : ", ") + name + " " + text;
  }
  return result;
}

} // namespace troupe
