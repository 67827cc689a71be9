#include "actors/spans/sequence_link.hpp"

#include <algorithm>

namespace troupe {

namespace {

/// Decisions of one message.
constexpr std::ptrdiff_t decisions_at_once = 64;
/// Decisions that are under way to one owner.
constexpr uint64_t window = 16 * decisions_at_once;

} // namespace

void sequence_outbox::begin_term(const std::vector<std::string>& owners) {
  entries_.clear();
  last_ = 0;
  owners_.clear();
  for (const auto& process : owners)
    owners_[process] = {};
}

void sequence_outbox::add(const std::vector<sequence_entry>& entries) {
  if (owners_.empty() || entries.empty() || entries.front().position != last_ + 1)
    return;
  entries_.insert(entries_.end(), entries.begin(), entries.end());
  last_ = entries.back().position;
}

void sequence_outbox::on_progress(const std::string& from, uint64_t position, moment now) {
  const auto found = owners_.find(from);
  if (found == owners_.end() || position > last_)
    return;
  auto& x = found->second;
  x.is_there = true;
  if (position <= x.known)
    return;
  x.known = position;
  x.sent = std::max(x.sent, position);
  x.clock.restart(now);
  const auto have_first = [this] {
    return std::ranges::all_of(owners_, [this](const auto& entry) {
      return entry.second.known >= entries_.front().position;
    });
  };
  while (!entries_.empty() && have_first())
    entries_.pop_front();
}

std::vector<sequence_outbox::message> sequence_outbox::due(moment now) {
  std::vector<message> result;
  for (auto& [name, x] : owners_) {
    if (!x.is_there || x.known == last_)
      continue;
    if (x.sent == x.known)
      x.clock.restart(now);
    else if (x.clock.due(now))
      x.sent = x.known;
    while (x.sent < last_ && x.sent < x.known + window)
      result.push_back({name, next(x)});
  }
  return result;
}

std::vector<sequence_entry> sequence_outbox::next(owner& x) const {
  const auto begin =
    entries_.begin() + static_cast<std::ptrdiff_t>(x.sent + 1 - entries_.front().position);
  const auto count = std::min<std::ptrdiff_t>(entries_.end() - begin, decisions_at_once);
  x.sent += static_cast<uint64_t>(count);
  return {begin, begin + count};
}

std::vector<sequence_entry> sequence_inbox::accept(const std::vector<sequence_entry>& entries) {
  std::vector<sequence_entry> result;
  for (const auto& entry : entries)
    if (entry.position == position_ + 1) {
      ++position_;
      result.push_back(entry);
    }
  return result;
}

} // namespace troupe
