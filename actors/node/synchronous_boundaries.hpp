// Synchronous work boundaries: what local replicas of split models exchange with those of their groups in other
// processes (coordinators/parallel/boundary_tensors.hpp).
//
//   local replica --on_boundary--> published, to the processes of those who need it
//   begin(v): expected, item by item --arrived--> to the local replicas that need it
//
// What belongs to a step is expected once its version is whole here, to an evaluation once it is due.
// Others may be ahead by then: what came too early is kept, up to a bound, and looked at again.
// With each view groups begin their step anew, and so does all of this.

#pragma once

#include "actors/node/node_context.hpp"
#include "coordinators/parallel/boundary_tensors.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace troupe {

/// Bytes that are kept of what came too early; what does not fit is asked for again. A peer is ahead by
/// a version or a view at most, and sends little of it until others answer.
inline constexpr size_t early_boundary_bytes_max = size_t{64} << 20;

class synchronous_boundaries {
public:
  explicit synchronous_boundaries(node_context& context) : context_(context) {}

  /// The context has another view, or one that names this process no more.
  void on_view();
  /// This version is whole here, and local replicas have been told.
  void begin(uint64_t version);
  /// What is due of that version may be more now: its evaluation.
  void expect_due(std::optional<uint64_t> final_version);

  void on_boundary(const boundary& news);
  void on_arrived(const tensor_arrived& news);
  /// A piece that nobody expects.
  void on_early(peer_id from, const tensor_piece& piece);

  /// What is missing of whom, in words: of the first item that misses something. From `horizon` on
  /// nobody computes steps.
  std::map<peer_id, std::string> waits(std::optional<uint64_t> horizon) const;

private:
  struct group {
    std::vector<size_t> places; ///< in the view
    boundary_tensors tensors;
  };
  /// Of one tensor: which local replicas need it.
  struct expected {
    needed_boundary what;
    const group* of;
    std::vector<size_t> takers; ///< places in the view
  };

  void expect(bool evaluates);
  void expect_item(const group& x, const boundary_item& item);
  void expect_tensor(const group& x, size_t taker, const needed_boundary& what);
  std::vector<boundary_item> items_of(const group& x, bool evaluates) const;
  std::vector<tensor_source> sources_of(const group& x, const needed_boundary& what);
  expectation expectation_of(const needed_boundary& what, std::vector<tensor_source> sources);
  void look_again_at_early();

  node_context& context_;
  std::vector<std::unique_ptr<group>> groups_; ///< with local replicas
  std::optional<uint64_t> version_;            ///< begun
  bool has_begun_before_ = false;              ///< under this view
  bool expects_evaluation_ = false;
  std::map<uint64_t, std::vector<expected>> expected_; ///< of that version, by part of the name
  std::vector<std::pair<peer_id, tensor_piece>> early_;
  size_t early_bytes_ = 0;
  std::map<size_t, std::shared_ptr<buffer_pool>> pools_; ///< by size
};

// Synchronous work segments: parameters that local replicas fetch from the shards of other processes, segment by
// segment (coordinators/parallel/tile_rule.hpp).
//
//   replica --needed--> asked for of their owners --arrived--> replica --needed no more--> let go
//
// It is of the version that is whole here: each of its owners has announced it, and keeps it until this
// process has the next one. What local shards own is copied beside the rest, so that a segment is one
// buffer. Replicas that need a segment at the same time share it.

class synchronous_segments {
public:
  explicit synchronous_segments(node_context& context) : context_(context) {}

  /// Another view, or no version is whole here: nobody fetches anything.
  void stop();
  /// This version is whole here, and local replicas have been told.
  void begin(uint64_t version);

  void on_request(const segment_request& news);
  void on_arrived(const tensor_arrived& news);

private:
  struct fetched {
    std::shared_ptr<const element_window> window;
    std::set<size_t> takers; ///< places in the view
    float_view values;       ///< once they are here
  };

  index_range around(const fetched& x) const;
  void fetch(const fetched& x);
  void dismiss(const fetched& x);
  void hand_over(size_t segment, const fetched& x, size_t taker) const;

  node_context& context_;
  std::optional<uint64_t> version_;
  std::map<size_t, fetched> fetched_; ///< by segment
  std::shared_ptr<buffer_pool> pool_; ///< of the largest segment's size
};

} // namespace troupe
