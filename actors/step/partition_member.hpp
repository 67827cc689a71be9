// Partition member: a replica's part in a group that shares a model.
//
// What to compute next is decided by the tile rule, within `partition_work`; this carries pieces to the
// other members, adds the gradients of its slices along the tree, and hands them to the shards that own
// their elements. What is for other processes goes to the node, which fetches parameters that this process
// does not have.

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
  /// `news` is the view, `index` this replica's place in it; its work and waits are counted in
  /// `waits`.
  partition_member(replica_actor::pointer self, const replica_options& options, const view& news,
                   size_t index, boundary_waits& waits);

  void begin_step(uint64_t step, const const_buffer& point);
  /// Chunks of the evaluation of a version; the group has them to itself.
  void begin_evaluation(uint64_t version, const index_range& chunks,
                        const const_buffer& parameters);
  /// What was begun and is not done is wanted by nobody.
  void abandon();
  void on_boundary(const boundary& news);
  void on_parameters(const segment_parameters& news);
  /// Some of what was begun is not done.
  bool is_busy() const { return !work_.is_done(); }
  /// Computes a tile and sends what came of it; false when there is nothing to compute.
  bool compute_next();
  /// Slices computed since it was asked last.
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
    size_t left = 0; ///< slices that are not among them
  };

  /// The next chunks of an evaluation; all of them where others of the group compute them too.
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
  std::optional<moment> idle_since_;         ///< there is work that it cannot go on with
  std::optional<size_t> piece_of_;           ///< place of who sent the latest piece since then
};

/// The places in the view of replicas that share this one's slices; itself among them.
std::vector<size_t> group_of(const view& news, size_t index);

} // namespace troupe
