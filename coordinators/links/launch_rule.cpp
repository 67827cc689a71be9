#include "coordinators/links/launch_rule.hpp"

#include "coordinators/run/stop_signals.hpp"

#include <algorithm>
#include <csignal>

namespace troupe {

launch_rule::launch_rule(const launch_options& options)
  : options_(options), ends_(options.process_count), sent_(options.process_count) {}

std::vector<launch_action> launch_rule::on_stop_signal(int number, moment now) {
  if (stop_signal_ != 0)
    return is_another_signal(stopped_at_, now) ? signal_all(SIGKILL) : std::vector<launch_action>{};
  stop_signal_ = number;
  stopped_at_ = now;
  return stop_director(number, now);
}

std::vector<launch_action> launch_rule::on_end(size_t process, process_end end, moment now) {
  if (!is_alive(process))
    return {};
  ends_[process] = end;
  const bool failed = is_failure(process, end);
  if (failed)
    failures_.push_back(process);
  if (process == options_.director) {
    next_signal_ = SIGTERM;
    // A director that failed may not have let the others go.
    deadline_ = failed ? now : now + options_.farewell;
    return on_time(now);
  }
  if (!failed || !is_alive(options_.director) || !would_fail_again(end.exit_code))
    return {};
  if (refusal_ || stop_signal_ != 0)
    return {};
  refusal_ = process;
  return stop_director(SIGTERM, now);
}

std::vector<launch_action> launch_rule::on_time(moment now) {
  if (!deadline_ || now < *deadline_)
    return {};
  const int signal = next_signal_;
  deadline_.reset();
  if (signal != SIGKILL) {
    deadline_ = now + options_.grace;
    next_signal_ = SIGKILL;
  }
  return signal_all(signal);
}

bool launch_rule::finished() const {
  return std::all_of(ends_.begin(), ends_.end(), [](const auto& end) { return end.has_value(); });
}

// A batch system that stops a run may signal each of its processes, in any order and before us.
std::optional<size_t> launch_rule::first_failure() const {
  const auto& director = ends_[options_.director];
  const bool run_was_stopped = stop_signal_ != 0 || (director && was_stopped(*director));
  const auto counts = [&](size_t process) {
    return !run_was_stopped || !was_stopped(*ends_[process]);
  };
  const auto found = std::find_if(failures_.begin(), failures_.end(), counts);
  return found == failures_.end() ? std::nullopt : std::optional{*found};
}

int launch_rule::exit_code() const {
  const auto& end = end_of(refusal_.value_or(options_.director));
  if (end.signal == 0)
    return end.exit_code;
  return 128 + (end.signal == SIGKILL && stop_signal_ != 0 ? stop_signal_ : end.signal);
}

std::vector<launch_action> launch_rule::stop_director(int signal, moment now) {
  if (!is_alive(options_.director)) // the others are on their way out
    return {};
  deadline_ = now + options_.director_grace;
  next_signal_ = SIGKILL;
  sent_[options_.director] = signal;
  return {{options_.director, signal}};
}

std::vector<launch_action> launch_rule::signal_all(int signal) {
  std::vector<launch_action> result;
  for (size_t i = 0; i < ends_.size(); ++i)
    if (is_alive(i)) {
      sent_[i] = signal;
      result.push_back({i, signal});
    }
  return result;
}

bool was_stopped(const process_end& end) {
  constexpr int signals[] = {SIGINT, SIGTERM};
  return std::any_of(std::begin(signals), std::end(signals), [&](int number) {
    return end.signal == number || end.exit_code == 128 + number;
  });
}

// A director that was interrupted or asked to stop ends with 128 and the signal.
bool launch_rule::is_failure(size_t process, const process_end& end) const {
  const int sent = sent_[process];
  return !end.is_good() && (sent == 0 || (end.signal != sent && end.signal != SIGKILL &&
                                          end.exit_code != 128 + sent));
}

bool would_fail_again(int exit_code) {
  constexpr int codes[] = {2, 65, 66, 73, 76, 77, 78}; // docs/command-line.md
  return std::find(std::begin(codes), std::end(codes), exit_code) != std::end(codes);
}

} // namespace troupe
