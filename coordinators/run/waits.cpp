#include "coordinators/run/waits.hpp"

#include <algorithm>

namespace troupe {

namespace {

/// More are counted only: a line is read at a glance.
constexpr size_t shown_max = 3;

/// A line says of a process that it computes after so long at one piece of work.
constexpr milliseconds busy_shown_min{1'000};

bool is_silent(const heard_process& x) {
  return x.silence >= silence_max;
}

/// It reports no wait for another process; or it computes: then its own waits come of that, too.
bool is_end_of_chain(const heard_process& x) {
  return is_silent(x) || x.busy >= busy_shown_min ||
         std::ranges::all_of(x.waits, [](const awaited& one) { return one.from.empty(); });
}

void add_once(std::vector<std::string>& out, const std::string& what) {
  if (std::ranges::find(out, what) == out.end())
    out.push_back(what);
}

/// What others miss of `x`, and what it reports of its own parts.
std::vector<std::string> missed_of(const heard_process& x,
                                   const std::vector<heard_process>& everybody) {
  std::vector<std::string> result;
  for (const auto& other : everybody)
    for (const auto& wait : other.waits)
      if (!is_silent(other) && (wait.from == x.name || (wait.from.empty() && &other == &x)))
        add_once(result, wait.what);
  return result;
}

std::string joined(const std::vector<std::string>& parts, const char* between) {
  std::string result;
  for (size_t i = 0; i < std::min(parts.size(), shown_max); ++i)
    result += (i == 0 ? "" : between) + parts[i];
  if (parts.size() > shown_max)
    result += between + std::to_string(parts.size() - shown_max) + " more";
  return result;
}

std::string text_of(const late_process& x) {
  return "node " + x.name + ": " + (x.what.empty() ? "a sign of life" : joined(x.what, ", ")) +
         (x.busy >= busy_shown_min && x.silence < silence_max
            ? " (computing for " + time_text(x.busy) + ")"
            : " (last heard " + time_text(x.silence) + " ago)");
}

} // namespace

std::vector<late_process> holding_up(const std::vector<heard_process>& everybody) {
  std::vector<late_process> ends;
  std::vector<late_process> waited_for;
  for (const auto& x : everybody) {
    const late_process late{x.name, missed_of(x, everybody), x.silence, x.busy};
    if (late.what.empty() && !is_silent(x))
      continue;
    waited_for.push_back(late);
    if (is_end_of_chain(x))
      ends.push_back(late);
  }
  return ends.empty() ? waited_for : ends;
}

std::string waiting_text(const std::vector<late_process>& late) {
  std::vector<std::string> parts;
  for (const auto& x : late)
    parts.push_back(text_of(x));
  return "waiting for " + joined(parts, "; ");
}

std::string joining_text(const std::vector<std::string>& names, milliseconds left) {
  const auto who = names.empty()       ? std::string{"a node"}
                   : names.size() == 1 ? "node " + names.front()
                                       : "nodes " + joined(names, ", ");
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(std::max(left, milliseconds{0}));
  return "waiting for " + who + " to join (" + std::to_string(seconds.count()) + " s left)";
}

std::string time_text(milliseconds time) {
  const auto tenths = std::max<int64_t>(0, (time.count() + 50) / 100);
  const auto whole = std::to_string(tenths / 10);
  return (tenths < 600 ? whole + "." + std::to_string(tenths % 10) : whole) + " s";
}

bool wait_reporter::is_due(const std::string& who, moment since, moment now) {
  std::erase_if(told_, [&](const auto& entry) { return now - entry.second.last > interval_max; });
  if (now - since < patience_)
    return false;
  const auto [place, is_new] = told_.try_emplace(who, reported_wait{now, interval_min, now});
  auto& told = place->second;
  told.last = now;
  if (now < told.next)
    return false;
  told.next = now + told.interval;
  told.interval = std::min(2 * told.interval, interval_max);
  since_ = std::min(since_.value_or(since), since);
  return true;
}

std::optional<milliseconds> wait_reporter::over(moment now) {
  if (!since_)
    return std::nullopt;
  const auto lasted = std::chrono::duration_cast<milliseconds>(now - *since_);
  since_.reset();
  return lasted;
}

} // namespace troupe
