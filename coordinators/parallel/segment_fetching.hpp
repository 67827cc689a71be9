// Segment fetching: where a replica finds the parameters that it computes with, when it does all of its
// items' tiles of a segment one after the other.
//
// What its process has anyway lies in one buffer. The rest is asked for segment by segment, before its
// turn, and let go of when its last tile was computed: no more than `fetched_segments_max` are here or
// under way at a time. Of four segments, none of which is at hand, a step does this
//
//   computes   forward 0   forward 1   forward 2   forward 3   back 3   back 2   back 1   back 0
//   has        0           1           2           3           3        2        1        0
//   asks for   0 1         2           3                                1        0
//
// so each is fetched twice whatever the number of items, but for the last ones, which are needed again
// before others. An evaluation goes forward only.

#pragma once

#include "coordinators/parallel/grid.hpp"
#include "coordinators/parallel/tile_rule.hpp"
#include "models/base/element_window.hpp"
#include "models/segments/segment_chain.hpp"

#include <cstddef>
#include <map>
#include <memory>
#include <utility>
#include <vector>

namespace troupe {

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

  /// New work on so many items. `at_hand`: what its process has of the version. What was fetched before
  /// is let go of.
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
