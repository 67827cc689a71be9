// A walk of the tile rule by seed: a group of any small shape, whose boundaries arrive in any order, some
// twice, while views move items and replicas are replaced. Every tile is to be handed out once, within
// the bound, and the work is to end.

#pragma once

#include "coordinators/parallel/tile_rule.hpp"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace troupe::test {

// A group of replicas as a plain value: the stages of a pipeline, in each some that share its parts,
// and what they tell each other. Time and order are the caller's. Each tile that a rule hands out is
// held against what its replica has, and against the bound.

/// A share of a tile's input: `from` had a hand in it, `to` needs it.
struct boundary_share {
  uint8_t from = 0;
  uint8_t to = 0;
  tile of;

  friend auto operator<=>(const boundary_share&, const boundary_share&) = default;
};

struct company_shape {
  std::vector<size_t> stages; ///< segments of each
  size_t tensor = 1;          ///< replicas of each stage, at most 8
  pipeline_schedule schedule{};
  tile_rule::work_kind kind = tile_rule::work_kind::step;
  size_t item_count = 1;     ///< items are below this
  size_t in_flight_max = 0;  ///< 0: by in_flight_bound
  size_t in_flight_more = 0; ///< beyond that

  friend bool operator==(const company_shape&, const company_shape&) = default;
};

/// Replica r is of stage r / tensor.
class tile_company {
public:
  explicit tile_company(company_shape shape) : shape_(std::move(shape)) {
    segment_count_ = std::accumulate(shape_.stages.begin(), shape_.stages.end(), size_t{0});
    size_t begin = 0;
    for (size_t stage = 0; stage < shape_.stages.size(); ++stage) {
      const index_range segments{begin, begin + shape_.stages[stage]};
      for (size_t a = 0; a < shape_.tensor; ++a)
        replicas_.push_back(newcomer({segments, bound(stage), shape_.schedule, {}}));
      begin = segments.end;
    }
  }

  void begin(const std::vector<size_t>& items) {
    for (auto& x : replicas_) {
      x.items = items;
      x.rule.begin(shape_.kind, items);
    }
  }

  size_t size() const { return replicas_.size(); }
  const tile_rule& rule(size_t replica) const { return replicas_[replica].rule; }
  const std::string& problem() const { return problem_; }
  bool done() const {
    return std::ranges::all_of(replicas_, [this](const member& x) { return is_done(x); });
  }

  /// The replica does what its rule says now. What others get of it is added to `sent`.
  std::optional<tile> work(size_t index, std::vector<boundary_share>& sent) {
    auto& x = replicas_[index];
    const auto next = x.rule.next();
    if (!next) {
      check_idle(index);
      return std::nullopt;
    }
    check(index, *next);
    if (problem_.empty()) {
      cell_of(x, *next).handed |= bit(next->way);
      ++x.handed_counts[next->item];
      send(index, *next, sent);
    }
    return next;
  }

  void deliver(const boundary_share& share) {
    auto& x = replicas_[share.to];
    auto& here = arrived(cell_of(x, share.of), share.of.way);
    here = static_cast<uint8_t>(here | 1 << share.from % shape_.tensor);
    if (is_whole(here))
      x.rule.on_input(share.of);
  }

  /// A view in the middle of the work. Boundaries are kept whoever has the item.
  void set_items(size_t index, const std::vector<size_t>& items) {
    auto& x = replicas_[index];
    x.items = items;
    x.rule.set_items(items);
    const auto count = static_cast<std::ptrdiff_t>(x.options.segments.size());
    for (size_t item = 0; item < shape_.item_count; ++item) {
      if (std::ranges::binary_search(items, item))
        continue;
      x.handed_counts[item] = 0;
      const auto first = x.cells.begin() + static_cast<std::ptrdiff_t>(item) * count;
      std::for_each(first, first + count, [](cell& y) { y.handed = 0; });
    }
    tell_all(x);
  }

  /// Another comes in a replica's place, and is told what the others have done.
  void replace(size_t index, std::vector<boundary_share>& sent) {
    auto items = std::move(replicas_[index].items);
    auto& x = replicas_[index] = newcomer(replicas_[index].options);
    x.items = std::move(items);
    x.rule.begin(shape_.kind, x.items);
    std::vector<boundary_share> all;
    for (size_t from = 0; from < size(); ++from)
      for_each_tile(replicas_[from], [&](const cell& of, const tile& what) {
        if ((of.handed & bit(what.way)) != 0)
          send(from, what, all);
      });
    std::ranges::copy_if(all, std::back_inserter(sent),
                         [&](const boundary_share& y) { return y.to == index; });
  }

  friend bool operator==(const tile_company&, const tile_company&) = default;

  /// Equal for equal companies.
  uint64_t key() const {
    uint64_t result = 0;
    for (const auto& x : replicas_)
      for (const auto& y : x.cells)
        result = (result ^ (y.x_from | y.d_from << 8 | y.handed << 16)) * 0x9E3779B97F4A7C15;
    return result;
  }

private:
  /// What is known of a segment of an item, sets of bits: whose shares are here, which ways were
  /// handed out.
  struct cell {
    uint8_t x_from = 0;
    uint8_t d_from = 0;
    uint8_t handed = 0;
    friend bool operator==(const cell&, const cell&) = default;
  };
  struct member {
    tile_rule_options options;
    tile_rule rule;
    std::vector<size_t> items;
    std::vector<cell> cells;           ///< item by item
    std::vector<size_t> handed_counts; ///< tiles, by item
    friend bool operator==(const member&, const member&) = default;
  };

  static constexpr uint8_t bit(tile_way way) { return 1 << static_cast<int>(way); }
  static uint8_t& arrived(cell& x, tile_way way) {
    return way == tile_way::forward ? x.x_from : x.d_from;
  }

  size_t bound(size_t stage) const {
    if (shape_.in_flight_max > 0)
      return shape_.in_flight_max;
    return shape_.in_flight_more +
           in_flight_bound(shape_.schedule, {stage, shape_.stages.size(), shape_.tensor});
  }

  member newcomer(const tile_rule_options& options) const {
    return {options,
            tile_rule{options},
            {},
            std::vector<cell>(shape_.item_count * options.segments.size()),
            std::vector<size_t>(shape_.item_count)};
  }

  static cell& cell_of(member& x, const tile& what) {
    return x.cells[what.item * x.options.segments.size() + what.segment - x.options.segments.begin];
  }

  template <class Visitor>
  static void for_each_tile(const member& x, const Visitor& visit) {
    const auto& segments = x.options.segments;
    for (size_t i = 0; i < x.cells.size(); ++i)
      for (const auto way : {tile_way::forward, tile_way::backward, tile_way::gradient})
        visit(x.cells[i], {i / segments.size(), segments.begin + i % segments.size(), way});
  }

  bool is_whole(uint8_t from) const { return from == (1u << shape_.tensor) - 1; }

  /// Of whose inputs a tile makes a share, if of any.
  std::optional<tile> made_by(const tile& what) const {
    const bool is_step = shape_.kind == tile_rule::work_kind::step;
    if (what.way == tile_way::forward && what.segment + 1 < segment_count_)
      return tile{what.item, what.segment + 1, tile_way::forward};
    if (what.way == tile_way::forward && is_step) // the loss
      return tile{what.item, what.segment, tile_way::backward};
    if (what.way == tile_way::backward && what.segment > 0)
      return tile{what.item, what.segment - 1, tile_way::backward};
    return std::nullopt;
  }

  void send(size_t from, const tile& what, std::vector<boundary_share>& sent) {
    const auto of = made_by(what);
    if (!of)
      return;
    for (size_t to = 0; to < size(); ++to) {
      if (!replicas_[to].options.segments.contains(of->segment))
        continue;
      const boundary_share share{static_cast<uint8_t>(from), static_cast<uint8_t>(to), *of};
      if (to == from)
        deliver(share);
      else
        sent.push_back(share);
    }
  }

  void tell_all(member& x) {
    for_each_tile(x, [&](const cell& of, const tile& what) {
      if ((what.way == tile_way::forward && is_whole(of.x_from)) ||
          (what.way == tile_way::backward && is_whole(of.d_from)))
        x.rule.on_input(what);
    });
  }

  size_t tile_count() const { return shape_.kind == tile_rule::work_kind::step ? 3 : 1; }

  /// All tiles of all items were handed out.
  bool is_done(const member& x) const {
    return std::ranges::all_of(x.items, [&](size_t item) {
      return x.handed_counts[item] == tile_count() * x.options.segments.size();
    });
  }

  bool is_in_flight(const member& x, size_t item) const {
    const auto handed = x.handed_counts[item];
    return handed > 0 && handed < tile_count() * x.options.segments.size();
  }

  size_t in_flight_below(const member& x, size_t item) const {
    size_t result = 0;
    for (size_t i = 0; i < item; ++i)
      result += is_in_flight(x, i) ? 1 : 0;
    return result;
  }

  bool is_kept_back(const member& x, size_t item) const {
    return !is_in_flight(x, item) && in_flight_below(x, item) >= x.options.in_flight_max;
  }

  /// A replica that has nothing to do now.
  void check_idle(size_t index) {
    auto& x = replicas_[index];
    note(x.rule.done() != is_done(x), index, {}, "it is wrong about the end");
    note(x.rule.done() && !x.rule.in_flight().empty(), index, {}, "in flight after the end");
    for (const auto item : x.items)
      for (auto k = x.options.segments.begin; k < x.options.segments.end; ++k) {
        const tile first{item, k, tile_way::forward};
        const auto& here = cell_of(x, first);
        const bool is_ready = here.handed == 0 && (k == 0 || is_whole(here.x_from));
        note(is_ready && !is_kept_back(x, item), index, first, "it is ready and not handed out");
      }
  }

  void check(size_t index, const tile& what) {
    auto& x = replicas_[index];
    const bool is_known =
      std::ranges::binary_search(x.items, what.item) && x.options.segments.contains(what.segment);
    note(!is_known, index, what, "nobody asked for it");
    if (!is_known)
      return;
    const auto& here = cell_of(x, what);
    note((here.handed & bit(what.way)) != 0, index, what, "it is handed out twice");
    if (what.way == tile_way::forward)
      check_forward(index, what);
    if (what.way == tile_way::backward)
      note(!is_whole(here.d_from) || (here.handed & bit(tile_way::forward)) == 0, index, what,
           "its derivative is not here, or it has not gone forward");
    if (what.way == tile_way::gradient)
      note((here.handed & bit(tile_way::backward)) == 0, index, what, "it has not gone backward");
  }

  void check_forward(size_t index, const tile& what) {
    auto& x = replicas_[index];
    note(what.segment > 0 && !is_whole(cell_of(x, what).x_from), index, what,
         "its activations are not here");
    note(is_kept_back(x, what.item), index, what, "too many lower ones are in flight");
  }

  void note(bool is_wrong, size_t index, const tile& what, const char* why) {
    if (is_wrong && problem_.empty())
      problem_ = "replica " + std::to_string(index) + ", item " + std::to_string(what.item) +
                 ", segment " + std::to_string(what.segment) + ", way " +
                 std::to_string(static_cast<int>(what.way)) + ": " + why;
  }

  company_shape shape_;
  size_t segment_count_ = 0;
  std::vector<member> replicas_;
  std::string problem_;
};

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
