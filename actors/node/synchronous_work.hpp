// Synchronous work: connects replicas and shards of several processes, step by step. Local replicas' gradients go to
// the shards of other processes, in as few and as large sums as possible. Local replicas get parameters of whole
// versions, one by one. Local shards get the gradients of other processes' replicas, and the sums of other shards'
// blocks where the job needs them.
//
//   tensor       published                           expected
//   ---------------------------------------------------------------------------------------------
//   gradient     sums of local replicas, while they  by each local span, of the slices that others
//                are computed; until the next        have
//                version is whole here
//   parameters   local spans, the last two versions; where replicas compute: the newest whole version, or
//                behind the last element the point   the segments that are fetched of that version
//                where gradients are taken, if that  (synchronous_boundaries.hpp)
//                is elsewhere
//   boundary     what local replicas of a split      by those of its groups
//                model                               (synchronous_boundaries.hpp)
//                make for others; until the next
//                version is whole here
//   block sums   of local blocks, the last two       of other blocks; asked for once the own are
//                steps                               known

#pragma once

#include "actors/node/local_actors.hpp"
#include "actors/node/node_work.hpp"
#include "actors/node/synchronous_boundaries.hpp"
#include "coordinators/parallel/tile_window.hpp"
#include "coordinators/step/local_sums.hpp"

#include <map>
#include <memory>
#include <vector>

namespace troupe {

class synchronous_work : public node_work {
public:
  using node_work::node_work;

  void begin_term() override;
  void on_view(const cluster_view& before, size_t me_before) override;
  std::optional<uint64_t> held() const override { return held_; }

  void on_arrived(const tensor_arrived& news) override;
  void on_asked(const tensor_asked&) override {} // all that was announced is kept
  void on_conflict(const tensor_piece& news) override;
  void on_early(peer_id from, const tensor_piece& news) override;
  void on_directive() override { boundaries_.expect_due(directives_.final_version()); }
  std::vector<awaited> waits(moment now, std::optional<uint64_t> horizon) const override;

  void on_contribution(const contribution& news) override;
  void on_boundary(const boundary& news) override { boundaries_.on_boundary(news); }
  void on_segment_request(const segment_request& news) override { segments_.on_request(news); }
  void on_parameter_span(const parameter_span& news) override;
  void on_block_sums(const block_sums& news) override;

private:
  // synchronous_work.cpp: versions, and the tensors that shards wait for.
  /// Expects versions from `first` on; nothing: from the newest that the other processes have.
  void gather_from(std::optional<uint64_t> first);
  void on_version(const tensor_arrived& news);
  /// Begins exchange and fetches of a split model's replicas at the version that is whole here.
  void begin_split();
  /// Announces the version that is whole here to the replica at this place of the view.
  void announce_to(size_t replica) const;
  /// Indexes in the view of local replicas that begin at the version that is whole here: they had no
  /// slices in the view before and have some, or share a model.
  std::vector<size_t> beginners(const cluster_view& before, size_t me_before) const;
  void expect_gradients(const local_span& one);
  void expect_block_sums(uint64_t step);
  void on_gradient(const tensor_arrived& news);
  void on_sums_of_blocks(const tensor_arrived& news) const;
  /// The other processes that sum gradients of a step for these elements.
  std::vector<tensor_source> gradient_sources(uint64_t step, const index_range& lane) const;
  /// The elements of shards of other processes.
  std::vector<tensor_route> routes_of_spans() const;

  // Local replicas' gradients, for the shards of other processes.
  void take_up_slices();
  void on_begun(const contribution& news);
  void carry_out(uint64_t step, const std::vector<local_sums::sum>& sums);
  void have_added(uint64_t step, const local_sums::sum& what);
  kept_tensor gradient_of(const contribution& work) const;

  bool follows_ = false;                    ///< it gets versions
  std::optional<uint64_t> held_;            ///< the newest version that is whole here
  std::optional<uint64_t> wanted_;          ///< the next; nothing while it is unknown after joining
  const_buffer parameters_;                 ///< of `held_`; then the point, if there is one
  std::shared_ptr<buffer_pool> with_point_; ///< of both
  local_sums sums_;
  synchronous_boundaries boundaries_{context_};
  synchronous_segments segments_{context_};
  gradient_makers makers_;
  parameter_windows windows_{context_, spans_};
  std::map<uint64_t, std::vector<contribution>> parts_;  ///< by step: not sent yet
  std::map<size_t, std::shared_ptr<buffer_pool>> pools_; ///< of spans' sizes, by size
  std::optional<uint64_t> sums_step_;                    ///< the newest whose sums are expected
};

} // namespace troupe
