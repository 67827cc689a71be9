// The tile rule: what a replica computes next where a model is split over several.
//
// The unit of work is a tile: one segment of one item, one way. Items are the slices of a step, or
// the chunks of an evaluation, which go forward only. A replica does the tiles of its own segments
// one after the other, and between two of them takes in what has come:
//
//   tile of segment s   is ready when                                 makes
//   forward             x of s is here                                activations: x of s + 1
//   backward            d behind s is here, and s has gone forward    derivatives: d behind s - 1
//   gradient            s has gone backward                           the gradient of s
//
// x and d are reported by `on_input` when they are whole, also those that this replica has made.
// Segment 0 of the model reads rows of the data set and waits for nothing. It has a backward tile as
// the others have, for what lies within it, though no segment is below it.
//
// Of the ready tiles the rule takes
//
//   1F1B    backward, forward, gradient: to go back sets memory free, to go forward takes some
//   GPipe   forward, backward, gradient
//
// Both ways come before gradients because other replicas wait for them, and none for a gradient: it
// fills the gaps. Of one way the lowest item goes first, then the lowest segment: the oldest slice
// is done soonest, and replicas that need each other's sums take up the same one.
//
// The bound: an item begins only while fewer than `in_flight_max` *lower* ones are in flight here,
// begun and not handed out whole. So the lowest item that is not done is never kept back, here or
// at any other replica. It waits for another replica's tile of the same item, and so on to a tile
// that is ready: there is no dead-lock, in any order of arrival, after any change of items. If
// higher ones counted too, replicas full of different ones could wait for each other. The price:
// what comes out of order may have more than `in_flight_max` in flight.
//
// By segment, for a replica that keeps the parameters of few segments at a time: all items go forward
// through one segment before the next, and so back: backward, then the gradients. All are in flight
// then. A tile whose segment is missing is not ready.

#pragma once

#include "coordinators/base/canonical_tree.hpp"
#include "coordinators/parallel/grid.hpp"
#include "models/base/element_window.hpp"
#include "models/segments/segment_chain.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace troupe {

enum class tile_way : uint8_t { forward, backward, gradient };

struct tile {
  size_t item = 0;    ///< slice of the step, or chunk of the evaluation
  size_t segment = 0; ///< of the model
  tile_way way = tile_way::forward;

  friend auto operator<=>(const tile&, const tile&) = default;
};

struct tile_rule_options {
  index_range segments;         ///< of the model: this replica's own, at least one
  size_t in_flight_max = 1;     ///< lower items in flight when one begins; at least 1
  pipeline_schedule schedule{}; ///< what goes first
  /// Segments whose gradients have the longer way, over wires: first among those of an item.
  std::vector<size_t> urgent_gradients;
  bool by_segment = false; ///< segment by segment; schedule and bound do not count

  friend bool operator==(const tile_rule_options&, const tile_rule_options&) = default;
};

/// One step or evaluation at a time.
class tile_rule {
public:
  /// Throws std::invalid_argument without segments, or with a bound of 0.
  explicit tile_rule(tile_rule_options options);

  enum class work_kind : uint8_t { step, evaluation };

  /// Forgets the work before. Items ascend; those without rows do not exist and are left out.
  void begin(work_kind kind, const std::vector<size_t>& items);

  /// The items are these now, as a view says in the middle of the work: those that were here go on,
  /// others are forgotten, new ones begin. Inputs of these are to be reported, also those that came
  /// before.
  void set_items(const std::vector<size_t>& items);

  /// The input of a tile is here, whole, and stays until the item is done: x of a forward tile, d of a
  /// backward one. False when that was known, or no tile here needs it.
  bool on_input(const tile& of);

  /// What to compute now; nothing: what there is waits for input, or for parameters of the segments
  /// that are `missing`. Counts as done once returned: ask again after doing it.
  std::optional<tile> next(const std::vector<size_t>& missing = {});

  /// Every tile of every item was handed out.
  bool done() const;

  /// Items begun and not handed out whole, in order: their activations are kept.
  const std::vector<size_t>& in_flight() const { return in_flight_; }
  /// The most of them since `begin`.
  size_t in_flight_peak() const { return in_flight_peak_; }

  friend bool operator==(const tile_rule&, const tile_rule&) = default;

private:
  struct segment_state {
    bool x_here = false;
    bool d_here = false;
    bool went_forward = false;
    friend bool operator==(const segment_state&, const segment_state&) = default;
  };
  struct work {
    size_t item;
    size_t left; ///< tiles not handed out yet
    std::vector<segment_state> segments;
    friend bool operator==(const work&, const work&) = default;
  };
  /// A ready tile. The lowest goes first.
  struct place {
    size_t item;
    bool is_late; ///< a gradient that is not urgent
    size_t segment;
    friend auto operator<=>(const place&, const place&) = default;
  };
  using places = std::vector<place>; ///< sorted, the lowest last

  work new_work(size_t item) const;
  work* find(size_t item);
  places& ready(tile_way way) { return ready_[static_cast<size_t>(way)]; }
  void add_ready(const tile& what);
  /// The end of the ready ones when none may be taken.
  places::iterator first_of(tile_way way);
  places::iterator first_forward();
  std::optional<tile> next_by_segment(const std::vector<size_t>& missing);
  tile take(tile_way way, places::iterator at);
  void begin_item(size_t item);

  tile_rule_options options_;
  work_kind kind_ = work_kind::step;
  std::vector<work> items_;       ///< sorted
  std::array<places, 3> ready_;   ///< by way
  std::vector<size_t> in_flight_; ///< sorted
  size_t in_flight_peak_ = 0;
};

// Segment fetching: where a replica finds the parameters that it computes with, when it does all of its
// items' tiles of a segment one after the other.
//
// What its process has anyway lies in one buffer. The replica asks for the rest segment by segment,
// before its turn, and drops it after its last tile: no more than `fetched_segments_max` are here or
// under way at a time. Of four segments, none of which is at hand, a step does this
//
//   computes   forward 0   forward 1   forward 2   forward 3   back 3   back 2   back 1   back 0
//   has        0           1           2           3           3        2        1        0
//   asks for   0 1         2           3                                1        0
//
// so each is fetched twice whatever the number of items, but for the last ones, which are needed again
// before others. An evaluation goes forward only.

/// The one at work, and the one behind it. Doubled, memory for as many more is taken; with one a replica
/// would wait for each segment.
inline constexpr size_t fetched_segments_max = 2;

/// Chunks of an evaluation that are computed together: so many times the activations of a chunk are
/// held, and so many times fewer parameters fetched.
inline constexpr size_t chunks_together_max = 4;

class segment_fetching {
public:
  struct request {
    size_t segment = 0;
    bool is_needed = true; ///< false: it may go

    friend bool operator==(const request&, const request&) = default;
  };

  segment_fetching(const segment_chain& chain, const partition& own);

  /// New work on so many items. `at_hand`: what its process has of the version. Drops what was fetched
  /// before.
  void begin(tile_rule::work_kind kind, size_t item_count, const windowed_buffer& at_hand);
  /// Nothing is needed any more.
  void end();
  /// A tile was computed.
  void on_computed(const tile& what);
  /// What it asked for is here. False when it was not asked for, or came before.
  bool on_arrived(size_t segment, const const_buffer& values);

  /// Segments whose parameters are missing, ascending.
  std::vector<size_t> missing() const;
  /// Of one that is not missing.
  windowed_values of(size_t segment) const;
  std::vector<request> take_requests() { return std::exchange(requests_, {}); }

private:
  /// A time that a segment is here.
  struct turn {
    size_t segment;
    tile_way last; ///< the way whose tiles are the last that need it
  };

  void plan_turns(tile_rule::work_kind kind);
  void ask();
  void let_go(size_t segment);

  index_range segments_;
  std::vector<std::shared_ptr<const element_window>> windows_; ///< by segment: what it reads
  windowed_buffer at_hand_;
  std::vector<size_t> fetched_; ///< segments that are not at hand, ascending
  std::vector<turn> turns_;     ///< in order
  size_t next_turn_ = 0;
  std::map<size_t, std::pair<turn, const_buffer>> held_; ///< by segment; null: under way
  size_t item_count_ = 0;
  std::map<std::pair<size_t, tile_way>, size_t> computed_; ///< tiles, by segment and way
  std::vector<request> requests_;
};

} // namespace troupe
