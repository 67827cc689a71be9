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
    if (x.incarnation != who.incarnation || replicas[i].count < x.last.count)
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

replica_speeds speed_rule::measure(moment now) {
  replica_speeds result;
  for (auto& [name, x] : replicas_) {
    const auto count = x.last.count - x.before.count;
    const auto time = std::chrono::duration<double>(x.last.time - x.before.time).count();
    if (count > 0 && time > 0) {
      x.speed = static_cast<double>(count) / time;
      x.measured = now;
    } else if (now - x.measured >= wait_) {
      x.speed = 0;
    }
    if (x.speed > 0)
      result[name] = x.speed;
  }
  return result;
}

std::optional<replica_speeds> speed_rule::due(const cluster_view& view, moment now) {
  if (std::exchange(view_, view.id) != view.id) {
    window_.reset();
    version_ = 0; // a roll-back may have undone it
  }
  if (!window_) {
    if (version_ > 0)
      begin_window(now);
    return std::nullopt;
  }
  if (now - window_->since < options_.window || version_ - window_->version < options_.steps_min)
    return std::nullopt;
  const auto pace_now = steps_per_second(now);
  const auto speeds = measure(now);
  begin_window(now);
  if (const auto last = std::exchange(move_, std::nullopt); last && is_next(view.id, last->from)) {
    if (pace_now < (1 + kept_min) * last->pace) {
      not_before_ = now + wait_;
      wait_ = std::min(2 * wait_, options_.wait_max);
      return in_force_ = last->speeds;
    }
    wait_ = options_.wait_min;
  }
  if (now < not_before_ || !gains(view, speeds, gain_min, holders_)) {
    seen_at_.reset();
    return std::nullopt;
  }
  if (now - *(seen_at_ = seen_at_.value_or(now)) < options_.wait_min)
    return std::nullopt;
  seen_at_.reset();
  move_ = move{view.id, pace_now, std::exchange(in_force_, speeds)};
  return speeds;
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
