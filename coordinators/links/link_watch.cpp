#include "coordinators/links/link_watch.hpp"

#include <algorithm>
#include <chrono>
#include <tuple>

namespace troupe {

namespace {

/// Bytes a second are the mean over this time.
constexpr milliseconds rate_window{5'000};

} // namespace

void link_watch::on_report(const std::string& who, const std::vector<link_report>& links,
                           moment now) {
  for (const auto& one : links) {
    on_sent(ways_[{who, one.peer}], one, now);
    on_came(ways_[{one.peer, who}], one, now);
  }
}

void link_watch::on_lost(const std::string& who) {
  std::erase_if(ways_, [&](const auto& entry) {
    return entry.first.first == who || entry.first.second == who;
  });
}

void link_watch::on_sent(way& x, const link_report& news, moment now) {
  const bool was_idle = x.sent == x.seen && x.waiting == 0;
  if (news.outgoing != x.number || news.seen != x.seen || was_idle)
    x.moved = now;
  x.number = news.outgoing;
  x.sent = news.sent;
  x.seen = news.seen;
  x.waiting = news.waiting;
  x.carrier = news.carrier;
}

void link_watch::on_came(way& x, const link_report& news, moment now) {
  const bool is_new = news.incoming != x.other_number || x.came.empty();
  if (is_new)
    x.came.clear();
  x.other_number = news.incoming;
  if (is_new || news.came != x.came.back().bytes)
    x.moved = now;
  x.came.push_back({now, news.came});
  while (x.came.size() > 2 && now - x.came[1].at >= rate_window)
    x.came.pop_front();
}

std::vector<link_figures> link_watch::figures(moment now, size_t count_max) const {
  std::vector<link_figures> result;
  for (const auto& [ends, x] : ways_) {
    if (x.number != x.other_number || x.came.empty() || x.sent == 0)
      continue; // one end reports another link, or has not reported
    link_figures one{ends.first,
                     ends.second,
                     x.sent,
                     std::min(x.sent, x.came.back().bytes),
                     x.sent - std::min(x.sent, x.seen),
                     x.waiting,
                     0,
                     {},
                     x.carrier};
    const auto& first = x.came.front();
    const std::chrono::duration<double> span = x.came.back().at - first.at;
    if (span.count() > 0)
      one.bytes_per_second = static_cast<double>(x.came.back().bytes - first.bytes) / span.count();
    if (one.sent > one.came || (one.waiting > 0 && one.unseen > 0))
      one.still = std::chrono::duration_cast<milliseconds>(now - x.moved);
    result.push_back(std::move(one));
  }
  const auto matters_more = [](const link_figures& a, const link_figures& b) {
    return a.still != b.still ? a.still > b.still : a.bytes_per_second > b.bytes_per_second;
  };
  const auto by_ends = [](const link_figures& a, const link_figures& b) {
    return std::tie(a.from, a.to) < std::tie(b.from, b.to);
  };
  if (result.size() > count_max) {
    std::ranges::stable_sort(result, matters_more);
    result.resize(count_max);
    std::ranges::sort(result, by_ends);
  }
  return result;
}

} // namespace troupe
