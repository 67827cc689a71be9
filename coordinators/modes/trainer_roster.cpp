#include "coordinators/modes/trainer_roster.hpp"

#include "coordinators/step/placement.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <string>

namespace troupe {

size_t trainer_roster::join(uint64_t life, const replica_name& who, uint64_t process_life) {
  const auto empty = std::ranges::find(places_, std::optional<uint64_t>{}, &place_state::life);
  const auto place = static_cast<size_t>(empty - places_.begin());
  if (empty == places_.end())
    places_.emplace_back();
  places_[place].life = life;
  places_[place].who = who;
  places_[place].process_life = process_life;
  losses_.on_joined(who, process_life);
  statistics_.on_joined(place);
  for (const auto& share : std::exchange(homeless_, {}))
    if (options_.homes.may_judge(places_[place].who.process, share.chunks))
      give(place, share);
    else
      homeless_.push_back(share);
  return place;
}

void trainer_roster::lose(size_t place, moment now) {
  auto& x = places_.at(place);
  if (!x.life)
    return;
  const auto left = std::exchange(x, {.who = x.who});
  if (left.task) {
    returned_.insert(left.task->piece);
    losses_.on_lost(left.task->piece, left.who, left.process_life, now);
  }
  if (!left.overdue) // else it was counted
    statistics_.on_lost(place, now);
  pass_on(place, left.shares);
}

void trainer_roster::pass_on(size_t place, const std::vector<evaluation_share>& shares) {
  auto others = living_places();
  std::erase_if(others, [&](size_t one) { return places_[one].overdue.has_value(); });
  for (const auto& share : shares) {
    auto able = others;
    std::erase_if(able, [&](size_t one) {
      return !options_.homes.may_judge(places_[one].who.process, share.chunks);
    });
    if (able.empty())
      homeless_.push_back(share);
    else
      give(able[place % able.size()], share);
  }
}

std::vector<std::pair<size_t, uint64_t>> trainer_roster::take_overdue(moment now) {
  std::vector<std::pair<size_t, uint64_t>> result;
  if (options_.lease == milliseconds{0})
    return result;
  const auto lease = std::max<moment::duration>(options_.lease, lease_factor * longest_);
  for (size_t i = 0; i < places_.size(); ++i) {
    auto& x = places_[i];
    if (!x.task || now - x.since < lease)
      continue;
    if (std::ranges::none_of(living_places(), [&](size_t one) {
          return one != i && !places_[one].overdue &&
                 options_.homes.may_take(places_[one].who.process, x.task->piece);
        }))
      continue;
    returned_.insert(x.task->piece);
    x.overdue = x.task->ticket;
    x.task.reset();
    x.before_task = 0;
    statistics_.on_lost(i, now);
    pass_on(i, std::exchange(x.shares, {}));
    result.emplace_back(i, *x.overdue);
  }
  return result;
}

std::vector<uint64_t> trainer_roster::take_left_out(moment now) {
  std::vector<uint64_t> result;
  for (const auto piece : returned_)
    if (losses_.of(piece, now) == piece_losses::advice::leave_out)
      result.push_back(piece);
  for (const auto piece : result) {
    returned_.erase(piece);
    losses_.forget(piece);
  }
  return result;
}

std::set<uint64_t>::const_iterator trainer_roster::next_returned(size_t place, moment now) const {
  auto one = returned_.begin();
  while (one != returned_.end()) {
    const auto own = options_.homes.next(places_[place].who.process, *one);
    if (own != *one)
      one = returned_.lower_bound(own);
    else if (losses_.of(own, now) == piece_losses::advice::give)
      break;
    else
      ++one;
  }
  return one;
}

uint64_t trainer_roster::next_piece(size_t place, moment now) const {
  if (const auto back = next_returned(place, now); back != returned_.end())
    return *back;
  auto lowest = returned_.empty() ? begun_count_ : std::min(*returned_.begin(), begun_count_);
  for (const auto& x : places_)
    lowest = std::min(lowest, x.task ? x.task->piece : lowest);
  const auto piece = options_.homes.next(places_[place].who.process, begun_count_);
  return piece < options_.homes.end(lowest, living_count()) ? piece
                                                            : std::numeric_limits<uint64_t>::max();
}

bool trainer_roster::has_work(size_t place, uint64_t limit, moment now) const {
  const auto piece = next_piece(place, now);
  return returned_.contains(piece) || piece < limit;
}

bool trainer_roster::awaits_time() const {
  const bool has_lease = options_.lease > milliseconds{0};
  return (has_lease &&
          std::ranges::any_of(places_, [](const auto& x) { return x.task.has_value(); })) ||
         (options_.losses.attempts > 0 && !returned_.empty());
}

std::optional<size_t> trainer_roster::find(uint64_t life) const {
  const auto found = std::ranges::find(places_, std::optional{life}, &place_state::life);
  if (found == places_.end())
    return std::nullopt;
  return static_cast<size_t>(found - places_.begin());
}

std::vector<size_t> trainer_roster::all_but(const std::vector<uint64_t>& lives) const {
  auto result = living_places();
  std::erase_if(result, [&](size_t place) {
    return std::ranges::find(lives, *places_[place].life) != lives.end();
  });
  return result;
}

std::vector<size_t> trainer_roster::living_places() const {
  std::vector<size_t> result;
  for (size_t i = 0; i < places_.size(); ++i)
    if (places_[i].life)
      result.push_back(i);
  return result;
}

void trainer_roster::release(const std::vector<size_t>& places) {
  for (const auto place : places)
    places_.at(place).waits = false;
}

uint64_t trainer_roster::take(size_t place, uint64_t ticket, moment now) {
  if (!is_free(place))
    throw std::logic_error("trainer roster: seat " + std::to_string(place) + " is not free");
  const auto piece = next_piece(place, now);
  if (returned_.erase(piece) == 0) {
    for (; begun_count_ < piece; ++begun_count_)
      returned_.insert(begun_count_);
    ++begun_count_;
  }
  auto& x = places_[place];
  x.task = {ticket, piece};
  x.since = now;
  x.before_task = x.shares.size();
  statistics_.on_sent(place, now);
  return piece;
}

bool trainer_roster::finish(size_t place, const work_task& task, moment now,
                            std::chrono::nanoseconds computed) {
  auto& x = places_.at(place);
  if (x.task == task || x.overdue == task.ticket)
    longest_ = std::max(longest_, now - x.since);
  if (x.task != task) {
    if (x.overdue == task.ticket) {
      x.overdue.reset();
      x.is_back = true;
    }
    statistics_.on_refused(place);
    return false;
  }
  x.task.reset();
  losses_.forget(task.piece);
  x.shares.erase(x.shares.begin(), x.shares.begin() + static_cast<std::ptrdiff_t>(x.before_task));
  x.before_task = 0;
  statistics_.on_result(place, now, computed);
  return true;
}

void trainer_roster::start_anew(uint64_t first) {
  if (!returned_.empty() || !std::ranges::all_of(places_, [](const auto& x) { return !x.task; }))
    throw std::logic_error("trainer roster: some of the work is not done yet");
  begun_count_ = first;
  losses_.clear();
}

void trainer_roster::give(size_t place, const evaluation_share& share) {
  places_[place].shares.push_back(share);
  given_.push_back({place, share});
}

void trainer_roster::evaluate(uint64_t version, const numbered_model& model, size_t chunk_count) {
  auto places = living_places();
  std::erase_if(places, [&](size_t one) { return places_[one].overdue.has_value(); });
  const auto& held = options_.homes.chunks;
  for (const auto& group : held.empty() ? std::vector<chunk_group>{{{0, chunk_count}}} : held) {
    auto able = places;
    std::erase_if(able, [&](size_t one) {
      return !options_.homes.may_judge(places_[one].who.process, group.chunks);
    });
    const auto ranges = split_evenly(group.chunks.size(), std::max<size_t>(able.size(), 1));
    for (size_t i = 0; i < ranges.size(); ++i) {
      const evaluation_share share{
        version, model, {group.chunks.begin + ranges[i].begin, group.chunks.begin + ranges[i].end}};
      if (share.chunks.empty())
        continue;
      if (able.empty())
        homeless_.push_back(share);
      else
        give(able[i], share);
    }
  }
}

// A trainer without work, one beyond the members, say, answers no task that would end its
// evaluations. The version of the row itself may yet be evaluated, when training ends there.
void trainer_roster::forget_evaluations(uint64_t version) {
  const auto is_done = [=](const evaluation_share& x) { return x.version < version; };
  for (auto& x : places_) {
    const auto task = x.shares.begin() + static_cast<std::ptrdiff_t>(x.before_task);
    x.before_task -= static_cast<size_t>(std::count_if(x.shares.begin(), task, is_done));
    std::erase_if(x.shares, is_done);
  }
  std::erase_if(homeless_, is_done);
}

std::vector<given_share> trainer_roster::take_given() {
  return std::exchange(given_, {});
}

std::vector<named_statistics> trainer_roster::figures() const {
  std::vector<named_statistics> result;
  for (size_t i = 0; i < places_.size(); ++i)
    result.push_back({places_[i].who, statistics_.of(i)});
  return result;
}

} // namespace troupe
