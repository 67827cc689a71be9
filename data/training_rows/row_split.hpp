// Which rows are for what where more than their numbers decides. Keys are those of part_choice.hpp, a
// function of (seed, row), or of (seed, the text of a group): not of the order of the rows or groups.
//
//   by class    of the n rows of each class those with the smallest keys, floor(f n), and one more of the
//               classes with the largest remainders, of equal ones the first, until there are floor(f N) in
//               all. Each class keeps a row for training, but for folds.
//   by groups   whole groups by rising key for as long as they have f N rows at most
//   folds       all rows that are not for testing, by class if so wanted, in order of their keys: the row at
//               place p belongs to fold p modulo k, so that each fold has the same number of each class but
//               for one. Of groups each goes, by rising key, to the fold that has the fewest rows.
//
// Rows for testing come first: validation, or another fold, does not move them.

#pragma once

#include "data/table/dataset.hpp"
#include "data/training_rows/part_choice.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace troupe {

struct row_split {
  std::vector<row_part> parts; ///< N
  part_sizes sizes;
  std::string words; ///< for people: "12 of 60 groups for testing, 0.203 of the rows"
};

/// Groups decide where the rows have some (dataset.hpp); then not `stratify`. Where there are folds,
/// `validation_fraction` is 0.
///
/// Throws failure: bad_job, naming the key, when the targets are no classes, a part gets no group, or there are
/// fewer rows or groups than folds; bad_data when no row is left for training.
row_split split_rows(const dataset& rows, uint64_t seed, const part_options& options);

/// Which rows are for what where rows are a sequence and neighbours have something in common, as windows of a text
/// have: parts are stretches of it, and the rows between two parts that would share something are of none.
///
///   | training                    | none | validation | none | testing |
///
/// The last floor(f N) rows are for testing. Before them come those for validation: the last floor(f N) again, or fold k
/// of K, the stretch from k M / K to (k + 1) M / K of the M rows that testing leaves; then training has rows on both sides.
class position_split {
public:
  /// Each row shares something with `overlap` rows behind it. Throws failure: bad_job when there are fewer rows
  /// than folds, bad_data when no row is left for training.
  position_split(size_t row_count, size_t overlap, const part_options& options);

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
