#include "troupe/data/training_rows/position_split.hpp"

#include "troupe/data/text/failure.hpp"

#include <algorithm>

namespace troupe {

namespace {

size_t less(size_t a, size_t b) {
  return a > b ? a - b : 0;
}

} // namespace

position_split::position_split(size_t row_count, size_t overlap, const part_fractions& fractions,
                               const fold_choice& fold)
  : overlap_(overlap) {
  const auto wanted = sizes_of_parts(row_count, fractions);
  test_begin_ = row_count - wanted.test;
  others_end_ = wanted.test > 0 ? less(test_begin_, overlap) : row_count;
  if (fold.count > others_end_)
    throw failure(failure_code::bad_job,
                  std::to_string(fold.count) + " folds of " + std::to_string(others_end_) +
                    " rows that are not for testing",
                  "data.folds", "use fewer folds");
  if (fold.count > 0) {
    validation_begin_ = others_end_ * fold.number / fold.count;
    validation_end_ = others_end_ * (fold.number + 1) / fold.count;
  } else if (wanted.validation > 0) {
    validation_begin_ = less(others_end_, wanted.validation);
    validation_end_ = others_end_;
  }
  sizes_.test = wanted.test;
  sizes_.validation = validation_end_ - validation_begin_;
  const auto train = sizes_.validation == 0
                       ? others_end_
                       : less(validation_begin_, overlap) +
                           less(others_end_, std::min(others_end_, validation_end_ + overlap));
  if (train == 0)
    throw failure(failure_code::bad_data,
                  "no rows are left for training: of " + std::to_string(row_count) + ", " +
                    std::to_string(sizes_.test + sizes_.validation) +
                    " are for testing and validation, and each part has to be " +
                    std::to_string(overlap) + " rows from the next to share no character with it",
                  {},
                  "use more data, a smaller data.test_fraction or data.validation_fraction, or a "
                  "smaller data.window");
  sizes_.none = row_count - train - sizes_.test - sizes_.validation;
}

row_part position_split::of(size_t row) const {
  if (row >= test_begin_)
    return row_part::test;
  if (row >= others_end_)
    return row_part::none;
  if (row >= validation_begin_ && row < validation_end_)
    return row_part::validation;
  const bool is_near = sizes_.validation > 0 && row + overlap_ >= validation_begin_ &&
                       row < validation_end_ + overlap_;
  return is_near ? row_part::none : row_part::train;
}

std::string position_split::words() const {
  if (sizes_.test + sizes_.validation == 0)
    return {};
  return "by position; " + std::to_string(sizes_.none) +
         " rows between the parts are of none, so that no two parts share a character";
}

} // namespace troupe
