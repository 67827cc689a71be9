// Partition work: what a replica computes on its partition of a model. A plain object without messages.
//
// A group of replicas computes a split model tile by tile (tile_rule.hpp). A member computes its tiles when their
// inputs are there, and sends pieces of the results to the members that need them (boundary_routes.hpp). This object
// computes one tile at a time and takes the others' pieces in between.
//
//   begin ---> compute_next, again and again ---> is_done
//                ^            |
//   on_piece ----+            +--> take_sent: pieces for others    take_finished: an item's gradient
//
// An item's gradient is one bucket, of all tiles of the partition. Where segments are computed one after the other each
// is a bucket of its own, and its parameters may be requested (tile_rule.hpp):
//
//   parameters().take_requests ---> parameters().on_arrived ---> compute_next
//
// The bits of the results follow from the job alone. They depend neither on the placement of parts and segments, nor on
// the order of pieces, nor on how many items are under way.

#pragma once

#include "coordinators/base/span_set.hpp"
#include "coordinators/parallel/boundary_routes.hpp"
#include "coordinators/parallel/tile_rule.hpp"
#include "coordinators/parallel/tile_window.hpp"
#include "data/training_rows/batch_reader.hpp"
#include "models/math/reduction.hpp"
#include "models/network/chained_model.hpp"
#include "models/network/model.hpp"

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace troupe {

struct partition_work_options {
  std::shared_ptr<const model> network;
  std::vector<partition> group; ///< of all members, which have the same slices
  size_t own = 0;               ///< this one's place among them
  pipeline_schedule schedule{};
  bool by_segment = false; ///< tile_rule.hpp: parameters may come, and gradients go, one by one
  /// Of the replica: all items find its parameters there (model::share_parameters). Null: each its own.
  workspace* memory = nullptr;
};

/// Buffers of any size, used again.
struct sized_pools {
  std::map<size_t, buffer_pool> by_size;

  buffer acquire(size_t size) { return by_size.try_emplace(size, size).first->second.acquire(); }
};

class partition_work {
public:
  /// A finished bucket of an item. In a step: the gradient of its tiles (`window`). In an evaluation only the member
  /// with part 0 of the last segment reports it.
  struct finished {
    size_t item = 0;
    batch_sums sums;
    buffer gradient;
    size_t bucket = 0;
    bool is_last = true; ///< of the item
  };
  struct sent {
    size_t member = 0;
    boundary_piece piece;
  };
  /// Counts so far, which tests compare with plans (coordinators/parallel/parallel_plan.hpp).
  struct counts {
    size_t in_flight_peak = 0;    ///< items at once, of the latest step or evaluation
    size_t items_held = 0;        ///< at once: each has a workspace
    uint64_t workspace_bytes = 0; ///< of all these
    uint64_t buffer_bytes = 0;    ///< gradients, and pieces for others
    uint64_t bytes_sent = 0;      ///< to others
  };
  /// The rows of an item; valid until the reader's next use.
  using item_rows = std::function<batch(size_t item, batch_reader& reader)>;

  explicit partition_work(partition_work_options options);

  /// Drops the work under way and begins another. `items` ascend and have rows.
  void begin(tile_rule::work_kind kind, uint64_t version, const std::vector<size_t>& items,
             const windowed_buffer& parameters, item_rows rows);
  /// Drops the work under way; nothing is left to do.
  void abandon();
  /// Takes another member's piece: of this work, or of a later one, which it keeps. Ignores pieces that come twice or
  /// too late. Throws std::invalid_argument for rows of another shape.
  void on_piece(const boundary_piece& piece);
  /// Computes a tile; false when all remaining tiles wait for inputs.
  bool compute_next();
  bool is_done() const { return rule_.done() && works_.empty(); }

  std::vector<sent> take_sent() { return std::exchange(sent_, {}); }
  std::vector<finished> take_finished() { return std::exchange(finished_, {}); }
  const tile_window& window(size_t bucket = 0) const { return windows_[bucket]; }
  segment_fetching& parameters() { return parameters_; }
  counts counted() const;

private:
  struct boundary_state {
    std::vector<tree_node> nodes; ///< sorted: nodes of the sums that are here
    std::vector<float_view> sums; ///< one for each node, of the rows that this member completes
    span_set rows;                ///< complete rows, as their takers need them
    bool is_made = false;         ///< this member's own share is among the sums
    bool is_complete = false;

    void hold(const tree_node& node, const float_view& sum);
  };
  struct reported_figures {
    float_view words;
    batch_sums sums;
  };
  struct work {
    const model* network = nullptr;
    size_t item = 0;
    batch_reader reader;
    batch rows;
    workspace memory;
    std::vector<std::array<boundary_state, 2>> boundaries; ///< by boundary; forward, backward
    std::map<size_t, reported_figures> figures;            ///< by part
    batch_sums sums;
    bool has_sums = false; ///< the loss is known here
    buffer gradient;       ///< of the bucket
    size_t left = 0;       ///< segments whose last tile is not computed yet
    size_t unsent = 0;     ///< boundaries with sums that this member has yet to complete

    boundary_state& state(size_t boundary, boundary_way way) {
      return boundaries[boundary][static_cast<size_t>(way)];
    }
    /// Where the model is computed (model.hpp): memory, and a tile's parameters.
    workspace& there() { return network->memory_there(memory); }
    windowed_values there(const windowed_values& parameters, const index_range& tile) {
      return network->parameters_there(parameters, tile, memory);
    }
    /// Calls compute(values), which is true if it wrote them; then `out` has them.
    template <class Compute>
    bool compute_to(std::span<float> out, const Compute& compute);
  };

  const segment_chain& chain() const { return options_.network->chain(); }
  const partition& own() const { return options_.group[options_.own]; }
  bool evaluates() const { return kind_ == tile_rule::work_kind::evaluation; }
  work& work_of(size_t item);
  void finish_if_done(work& x);
  /// The parts of segment k that this member computes.
  index_range parts_of(size_t k) const;
  void forward(work& x, size_t k);
  void backward(work& x, size_t k);
  void gradient(work& x, size_t k);

  std::span<float> rows_at(work& x, size_t boundary, boundary_way way) const;
  boundary_piece piece_of(const work& x, size_t boundary, boundary_way way) const;
  template <class Compute>
  void make(work& x, size_t k, size_t boundary, boundary_way way, const Compute& compute);
  void take(work& x, const boundary_piece& piece);
  void complete_if_due(work& x, size_t boundary, boundary_way way);
  void complete(work& x, size_t boundary, boundary_way way, const index_range& rows);
  void have_rows(work& x, size_t boundary, boundary_way way, const index_range& rows);
  void tell_figures(work& x);
  void take_loss(work& x);
  void on_loss(work& x, const batch_sums& sums);
  void send(size_t member, boundary_piece piece);

  partition_work_options options_;
  boundary_routes routes_;
  std::vector<tile_window> windows_; ///< by bucket
  tile_rule rule_;
  tile_rule::work_kind kind_ = tile_rule::work_kind::step;
  std::optional<uint64_t> version_;
  segment_fetching parameters_;
  item_rows rows_;
  std::map<size_t, std::unique_ptr<work>> works_; ///< by item: not finished
  std::vector<size_t> unseen_;                    ///< items without a work object yet
  std::vector<std::unique_ptr<work>> idle_;
  std::vector<boundary_piece> early_; ///< of later versions
  sized_pools pools_;
  reducer reducer_;
  std::vector<sent> sent_;
  std::vector<finished> finished_;
  uint64_t bytes_sent_ = 0;
};

} // namespace troupe
