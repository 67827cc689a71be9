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

#include "troupe/data/table/dataset.hpp"
#include "troupe/data/training_rows/part_choice.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace troupe {

/// Fold `number` of `count`, from 0, is the validation part; 0 folds: a fraction is.
struct fold_choice {
  size_t number = 0;
  size_t count = 0;
};

struct split_options {
  uint64_t seed = 0;
  part_fractions fractions = {}; ///< validation is 0 where there are folds
  bool by_class = false;
  fold_choice fold = {};
};

struct row_split {
  std::vector<row_part> parts; ///< N
  part_sizes sizes;
  std::string words; ///< for people: "12 of 60 groups for testing, 0.203 of the rows"
};

/// Groups decide where the rows have some (dataset.hpp); then not `by_class`.
///
/// Throws failure: bad_job, naming the key, when the targets are no classes, a part gets no group, or there are
/// fewer rows or groups than folds; bad_data when no row is left for training.
row_split split_rows(const dataset& rows, const split_options& options);

} // namespace troupe
