// Partition member: a replica's part in a group that shares a model.
//
// The tile rule in `partition_work` decides what to compute next. This object sends pieces to the other members. It
// adds the gradients of its slices along the tree and sends the sums to the shards that own their elements. It sends
// data for other processes to the node, which also fetches parameters that this process lacks.

#pragma once

#include "actors/protocol/boundary_messages.hpp"
#include "actors/protocol/messages.hpp"
#include "actors/step/partition_work.hpp"
#include "actors/step/replica_options.hpp"
#include "coordinators/base/moment.hpp"

#include <optional>
#include <vector>

namespace troupe {

class partition_member {
public:
  /// `news` is the view, `index` this replica's place in it. Counts its work and waits in `waits`; `memory` is the
  /// replica's from one view to the next.
  partition_member(replica_actor::pointer self, const replica_options& options, const view& news,
                   size_t index, boundary_waits& waits, workspace& memory);

  void begin_step(uint64_t step, const const_buffer& point);
  /// Begins the evaluation of these chunks, which only this group computes.
  void begin_evaluation(uint64_t version, const index_range& chunks,
                        const const_buffer& parameters);
  /// Drops the work that has begun and is not done.
  void abandon();
  void on_boundary(const boundary& news);
  void on_parameters(const segment_parameters& news);
  /// True if some of the work that has begun is not done.
  bool is_busy() const { return !work_.is_done(); }
  /// Computes a tile and sends its results; false when there is nothing to compute.
  bool compute_next();
  /// Slices computed since the last call.
  std::vector<size_t> take_computed() { return std::exchange(computed_, {}); }

private:
  struct partial_sum {
    tree_node node;
    buffer values;
    batch_sums sums;
  };

  /// Sums of a bucket's gradients over slices.
  struct bucket_sums {
    std::vector<partial_sum> parts;
    size_t left = 0; ///< slices that are still missing
  };

  /// Begins the next chunks of an evaluation: all at once, or some together where parameters come by segment.
  void begin_chunks();
  void send_pieces();
  void send_requests();
  void deliver();
  void add(std::vector<partial_sum>& parts, partial_sum part) const;
  void contribute(const partial_sum& part, size_t bucket);
  void poison_if_asked(const partition_work::finished& item) const;
  void count(moment begin, bool computed);
  void end_wait(moment now);

  replica_actor::pointer self_;
  const replica_options& options_;
  const view& view_;
  size_t index_;
  boundary_waits& waits_;
  std::vector<size_t> members_; ///< their places in the view
  partition_work work_;
  bool evaluates_ = false;
  uint64_t version_ = 0;
  const_buffer at_hand_; ///< parameters of the version that this process has
  index_range chunks_;
  size_t next_chunk_ = 0;
  std::vector<batch_sums> evaluated_; ///< by chunk
  std::vector<bucket_sums> buckets_;  ///< of the step
  std::vector<size_t> computed_;
  std::chrono::nanoseconds computed_for_{0}; ///< in this step; waiting is not counted
  std::optional<moment> idle_since_;         ///< since then it has work but cannot compute
  std::optional<size_t> piece_of_;           ///< place of the sender of the latest piece
};

/// The places in the view of the replicas with this one's slices, itself included.
std::vector<size_t> group_of(const view& news, size_t index);

} // namespace troupe
