// A seam's piece: some rows of what lies between two segments, from one replica of a group to another.
//
// Its content follows from the job and its name, whoever made it.

#pragma once

#include "troupe/coordinators/parallel/seam_routes.hpp"
#include "troupe/models/base/batch.hpp"
#include "troupe/models/base/float_view.hpp"

#include <cstddef>
#include <cstdint>

namespace troupe {

struct seam_name {
  uint64_t version = 0;   ///< of the parameters
  bool evaluates = false; ///< an evaluation of that version, not its step
  size_t item = 0;        ///< slice of the step, or chunk of the evaluation
  size_t seam = 0;        ///< behind the segment of this number
  seam_way way = seam_way::forward;

  friend auto operator<=>(const seam_name&, const seam_name&) = default;
};

struct seam_piece {
  seam_name name;
  bool is_complete = false; ///< rows as whoever takes them needs them; else a sum over `parts`
  tree_node parts;          ///< of a sum, or the part that tells figures
  index_range rows;         ///< of the item
  float_view values;        ///< rows x width, or rows x figure words
  batch_sums sums;          ///< of the item; of figures: of the part
};

} // namespace troupe
