// Boundaries of synchronous work: carries boundaries of split models between local replicas and members of their groups
// in other processes (coordinators/parallel/boundary_tensors.hpp).
//
//   local replica --on_boundary--> published, to the processes that need it
//   begin(v): expected, item by item --arrived--> to the local replicas that need it
//
// The boundaries of a step are expected once its version is whole here, those of an evaluation once it is due. Other
// processes may be ahead: pieces that come too early are kept, up to a bound, and offered again. With each view groups
// begin their step anew, and so does this object.

#pragma once

#include "actors/base/early_pieces.hpp"
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

class synchronous_boundaries {
public:
  explicit synchronous_boundaries(node_context& context) : context_(context) {}

  /// The context has another view, which may not name this process.
  void on_view();
  /// This version is whole here, and local replicas have it.
  void begin(uint64_t version);
  /// The version's evaluation may be due now.
  void expect_due(std::optional<uint64_t> final_version);

  void on_boundary(const boundary& news);
  void on_arrived(const tensor_arrived& news);
  /// A piece came that is not expected.
  void on_early(peer_id from, const tensor_piece& piece);

  /// The missing boundaries in words, by the process that owes them: of the first item that lacks one. From `horizon`
  /// on no replica computes steps.
  std::map<peer_id, std::string> waits(std::optional<uint64_t> horizon) const;

private:
  struct group {
    std::vector<size_t> places; ///< in the view
    boundary_tensors tensors;
  };
  /// A tensor, and the local replicas that need it.
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
  /// No piece of this name is needed any more.
  bool is_over(const tensor_name& name) const {
    const auto term = context_.view.id.term;
    return name.term < term || (name.term == term && version_ && name.key < *version_);
  }

  node_context& context_;
  std::vector<std::unique_ptr<group>> groups_; ///< with local replicas
  std::optional<uint64_t> version_;            ///< begun
  bool has_begun_before_ = false;              ///< under this view
  bool expects_evaluation_ = false;
  std::map<uint64_t, std::vector<expected>> expected_; ///< of that version, by part of the name
  early_pieces early_;
  std::map<size_t, std::shared_ptr<buffer_pool>> pools_; ///< by size
};

// Segments of synchronous work: fetches parameters for local replicas from the shards of other processes, segment by
// segment (coordinators/parallel/tile_rule.hpp).
//
//   replica --needed--> asked for of their owners --arrived--> replica --needed no more--> let go
//
// Parameters are of the version that is whole here: each owner has announced it, and keeps it until this process has
// the next one. Elements of local shards are copied beside the rest, so that a segment is one buffer. Replicas that
// need a segment at the same time share it.

class synchronous_segments {
public:
  explicit synchronous_segments(node_context& context) : context_(context) {}

  /// Ends all fetches: there is another view, or no version is whole here.
  void stop();
  /// This version is whole here, and local replicas have it.
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
