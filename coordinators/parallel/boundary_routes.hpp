// Boundary routes: which replica sends which the rows between two segments, in a group that shares a model.
//
// One rule for both ways: the replicas that *make* a boundary's rows add up their partial sums, each for
// some of the rows. A replica that has completed rows sends them to all that *take* them.
//
//   forward   made by the replicas of segment k, taken by those of segment k + 1
//   backward  made by the replicas of segment k + 1, taken by those of segment k
//   figures   words of each part about a loss whose scores are split: by all of the last stage, to all
//
//   makers                          takers            a maker sends
//   one, or whole rows in each      the same          nothing
//   partial sums in two             the same          its sums of all rows: both complete all (direct)
//   partial sums in more            the same          its sums to the maker that completes the rows;
//                                                     completed rows to the others
//   one, or whole rows in each      another stage     rows it completes, to each taker
//   partial sums in some            another stage     its sums likewise; completed rows to each taker
//
// A maker completes the share of the rows that its parts are of all parts. With two in a stage both
// forms send the same bytes, and the direct one waits for one message where the other waits for two.

#pragma once

#include "coordinators/parallel/grid.hpp"
#include "models/base/batch.hpp"
#include "models/base/buffer.hpp"
#include "models/segments/layer_cuts.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace troupe {

enum class boundary_way : uint8_t { forward, backward, figures };

struct boundary_route {
  std::vector<size_t> makers; ///< members of the group, in order of their parts
  std::vector<size_t> takers;
  bool adds = false; ///< makers have sums over their own parts

  bool stays() const { return makers == takers; }
  bool is_direct() const { return adds && stays() && makers.size() == 2; }
  /// Makers have to send each other sums before rows are complete.
  bool exchanges() const { return adds && makers.size() > 1; }
  friend bool operator==(const boundary_route&, const boundary_route&) = default;
};

class boundary_routes {
public:
  /// `group`: the partitions of its members, which hold every segment and part once. Behind boundary k lies
  /// segment k + 1; behind the last one the loss, computed by the last stage.
  boundary_routes(std::vector<partition> group, const std::vector<layer_segment>& segments,
                  size_t part_count);

  const std::vector<partition>& group() const { return group_; }
  size_t boundary_count() const { return routes_.size(); }
  const boundary_route& route(size_t boundary, boundary_way way) const {
    return routes_[boundary][static_cast<size_t>(way)];
  }
  /// The rows, of `row_count`, that a maker completes.
  index_range rows_of(const boundary_route& route, size_t maker, size_t row_count) const;
  /// The members to which a maker sends the rows that it has completed.
  std::vector<size_t> receivers(const boundary_route& route, size_t maker) const;

private:
  std::vector<size_t> stage_of(size_t segment) const;

  std::vector<partition> group_;
  size_t part_count_;
  std::vector<std::array<boundary_route, 3>> routes_; ///< by boundary and way
};

// A boundary's piece: some rows of what lies between two segments, from one replica of a group to another.
//
// Its content follows from the job and its name alone.
struct boundary_name {
  uint64_t version = 0;   ///< of the parameters
  bool evaluates = false; ///< an evaluation of that version, not its step
  size_t item = 0;        ///< slice of the step, or chunk of the evaluation
  size_t boundary = 0;    ///< behind the segment of this number
  boundary_way way = boundary_way::forward;

  friend auto operator<=>(const boundary_name&, const boundary_name&) = default;
};

struct boundary_piece {
  boundary_name name;
  bool is_complete = false; ///< rows as their takers need them; else a sum over `parts`
  tree_node parts;          ///< of a sum, or the part whose figures these are
  index_range rows;         ///< of the item
  float_view values;        ///< rows x width, or rows x figure words
  batch_sums sums;          ///< of the item; of figures: of the part
};

} // namespace troupe
