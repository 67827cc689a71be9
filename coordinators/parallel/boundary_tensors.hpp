// Boundary tensors: what lies between two segments, as tensors that processes exchange.
//
//   tensor     of a boundary's piece
//   ---------------------------------------------------------------------------------------------
//   key        the version of the parameters
//   part       step or evaluation, item, boundary, way, and whether its rows are complete: one number
//   node       of a sum: the parts that are added; of figures: the part that has them
//   elements   of an item of R rows: rows [a, b) of W units are [a W, b W); figures are R times their
//              words, and of a loss without such words a single element that says nothing
//   facts      the sums of the item's rows, as far as they are known where the piece is made
//
// So after a view other replicas may complete the rows: what is there stays good.

#pragma once

#include "coordinators/exchange/expected_tensor.hpp"
#include "coordinators/exchange/kept_tensors.hpp"
#include "coordinators/parallel/boundary_routes.hpp"
#include "models/network/model.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace troupe {

/// A slice of a step, or a chunk of an evaluation.
struct boundary_item {
  bool evaluates = false;
  size_t item = 0;
  size_t row_count = 0;
};

/// A tensor that a member of a group needs from others of it. Of sums and figures there are several,
/// each of some parts.
struct needed_boundary {
  struct source {
    size_t member = 0;
    index_range leaves; ///< the parts it has, one behind the other
  };
  boundary_name name;
  bool is_complete = false;
  index_range rows; ///< of the item
  index_range elements;
  size_t leaf_count = 1;
  std::vector<source> sources;
};

class boundary_tensors {
public:
  /// `group`: what each member carries of `network`.
  boundary_tensors(std::shared_ptr<const model> network, const std::vector<partition>& group);

  /// What this member needs of others for an item.
  std::vector<needed_boundary> needs(size_t member, uint64_t version,
                                     const boundary_item& item) const;

  /// A piece as a tensor of this term; `part_of` of a name is its part.
  kept_tensor tensor_of(uint64_t term, const boundary_piece& piece) const;
  static uint64_t part_of(const boundary_name& name, bool is_complete);
  /// The name a tensor's key and part were made of.
  static boundary_name name_of(uint64_t version, uint64_t part);
  /// A tensor that arrived as what was needed.
  boundary_piece piece_of(const needed_boundary& what, const tensor_arrived& news) const;

private:
  size_t width_of(const boundary_name& name) const;
  void add_sums(size_t member, const boundary_name& name, size_t row_count,
                std::vector<needed_boundary>& out) const;
  void add_complete(size_t member, const boundary_name& name, size_t row_count,
                    std::vector<needed_boundary>& out) const;
  void add_figures(size_t member, const boundary_name& name, size_t row_count,
                   std::vector<needed_boundary>& out) const;
  /// The parts of segment k that exist where a member has them.
  void add_parts(size_t k, size_t member, needed_boundary& what) const;
  index_range elements_of(const boundary_name& name, const index_range& rows) const;

  std::shared_ptr<const model> network_;
  boundary_routes routes_;
};

/// What travels with a tensor that is made of rows: their sums.
tensor_note note_of(const batch_sums& sums);
batch_sums sums_of(const tensor_note& note);

} // namespace troupe
