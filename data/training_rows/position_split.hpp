// Which rows are for what where rows are a sequence and neighbours have something in common, as windows of a text
// have: parts are stretches of it, and the rows between two parts that would share something are of none.
//
//   | training                    | none | validation | none | testing |
//
// The last floor(f N) rows are for testing. Before them come those for validation: the last floor(f N) again, or fold k
// of K, the stretch from k M / K to (k + 1) M / K of the M rows that testing leaves; then training has rows on both sides.

#pragma once

#include "troupe/data/training_rows/part_choice.hpp"
#include "troupe/data/training_rows/row_split.hpp"

#include <cstddef>
#include <string>

namespace troupe {

class position_split {
public:
  /// Each row shares something with `overlap` rows behind it. Throws failure: bad_job when there are fewer rows
  /// than folds, bad_data when no row is left for training.
  position_split(size_t row_count, size_t overlap, const part_fractions& fractions,
                 const fold_choice& fold);

  row_part of(size_t row) const;

  const part_sizes& sizes() const noexcept { return sizes_; }

  /// For people: "by position, the last rows for testing; 64 rows between the parts are of none". None where
  /// all rows are for training.
  std::string words() const;

private:
  size_t overlap_;
  size_t others_end_; ///< of rows for training and validation
  size_t validation_begin_ = 0, validation_end_ = 0;
  size_t test_begin_;
  part_sizes sizes_;
};

} // namespace troupe
