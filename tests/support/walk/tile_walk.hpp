// A walk of the tile rule by seed: a group of any small shape, whose boundaries arrive in any order, some
// twice, while views move items and replicas are replaced. Every tile is to be handed out once, within
// the bound, and the work is to end.

#pragma once

#include "tests/support/walk/tile_company.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace troupe::test {

/// SplitMix64 (Steele et al. 2014): as cheap to make as to use.
class small_dice {
public:
  explicit small_dice(uint64_t seed) : state_(seed) {}

  /// One of 0 .. count - 1; `count` at least 1, below 2^32.
  size_t below(size_t count) {
    auto x = state_ += 0x9E3779B97F4A7C15;
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9;
    x = (x ^ x >> 27) * 0x94D049BB133111EB;
    return static_cast<size_t>(((x ^ x >> 31) >> 32) * count >> 32);
  }
  bool chance(size_t percent) { return below(100) < percent; }

private:
  uint64_t state_;
};

class tile_walk {
public:
  explicit tile_walk(uint64_t seed)
    : dice_(seed),
      shape_(draw_shape()),
      company_(shape_),
      newest_(draw_items()),
      deliveries_(10 + dice_.below(80)),
      duplicates_(dice_.below(20)),
      troubles_left_(dice_.chance(30) ? 1 + dice_.below(3) : 0) {}

  /// The first problem; empty: none.
  std::string run() {
    company_.begin(newest_);
    seen_.assign(company_.size(), true);
    while (company_.problem().empty())
      if (!(dice_.chance(deliveries_) ? deliver() || work() : work() || deliver()) && !trouble() &&
          !see_view())
        return company_.done() ? "" : "nobody can go on, and not all is done";
    return company_.problem();
  }

private:
  company_shape draw_shape() {
    company_shape x;
    for (size_t left = 1 + dice_.below(4); left > 0; --left)
      x.stages.push_back(1 + dice_.below(2) * dice_.below(2));
    x.tensor = dice_.chance(60) ? 1 : 2 + dice_.below(2) * dice_.below(2);
    x.schedule = static_cast<pipeline_schedule>(dice_.below(2));
    x.kind = static_cast<tile_rule::work_kind>(dice_.chance(15) ? 1 : 0);
    x.item_count = 1 + dice_.below(5);
    x.in_flight_max = dice_.chance(50) ? 0 : 1 + dice_.below(4);
    return x;
  }

  /// Some of the items, as slices without rows do not exist.
  std::vector<size_t> draw_items() {
    std::vector<size_t> items;
    for (size_t i = 0; i < shape_.item_count; ++i)
      if (dice_.chance(85))
        items.push_back(i);
    return items;
  }

  bool deliver() {
    if (under_way_.empty())
      return false;
    const auto at = dice_.below(under_way_.size());
    const auto share = under_way_[at];
    if (!dice_.chance(duplicates_)) {
      under_way_[at] = under_way_.back();
      under_way_.pop_back();
    }
    company_.deliver(share);
    return true;
  }

  /// Somebody who can.
  bool work() {
    if (!first_that([&](size_t i) { return company_.work(i, under_way_).has_value(); }))
      return false;
    if (dice_.chance(5))
      trouble();
    return true;
  }

  /// A replica is replaced, or a view is made that each will see at some time.
  bool trouble() {
    if (troubles_left_ == 0)
      return see_view();
    --troubles_left_;
    if (dice_.chance(50)) {
      company_.replace(dice_.below(company_.size()), under_way_);
    } else {
      newest_ = draw_items();
      seen_.assign(company_.size(), false);
    }
    return true;
  }

  bool see_view() {
    return first_that([&](size_t i) {
      if (seen_[i])
        return false;
      seen_[i] = true;
      company_.set_items(i, newest_);
      return true;
    });
  }

  /// Asks the replicas from any one on, until one says yes.
  template <class Question>
  bool first_that(const Question& ask) {
    const auto first = dice_.below(company_.size());
    for (size_t i = first; i < company_.size(); ++i)
      if (ask(i))
        return true;
    for (size_t i = 0; i < first; ++i)
      if (ask(i))
        return true;
    return false;
  }

  small_dice dice_;
  company_shape shape_;
  tile_company company_;
  std::vector<size_t> newest_; ///< items of the newest view
  std::vector<bool> seen_;     ///< the newest view, by replica
  std::vector<boundary_share> under_way_;
  size_t deliveries_; ///< in percent of all events
  size_t duplicates_; ///< in percent of deliveries
  size_t troubles_left_;
};

} // namespace troupe::test
