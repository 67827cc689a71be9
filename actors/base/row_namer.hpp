// Row namer: which rows of the data a slice of a step trains on, as people count them: from 1, in the
// order they were read, those kept for testing included.

#pragma once

#include "troupe/actors/base/job_rows.hpp"
#include "troupe/data/training_rows/part_choice.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace troupe {

struct row_namer {
  std::shared_ptr<const job_rows> rows;
  uint64_t seed = 0;     ///< of the job
  std::string file;      ///< empty: the rows were made, or given
  part_fractions kept{}; ///< of the rows of `file`: for testing, for validation
  size_t chunk_rows = 0; ///< where rows lie in chunks; 0: they do not
  /// Where they lie in the data if that is known; null: as (seed, kept) decide.
  std::shared_ptr<const std::vector<uint32_t>> source{};

  /// Rows of the data, from 0, in the order they are trained on.
  std::vector<size_t> rows_of(uint64_t step, size_t slice) const;
  /// "rows 3, 17 and 40 of digits.csv", ascending; of many the first ones.
  std::string words(uint64_t step, std::span<const size_t> slices) const {
    return words(step, 1, slices);
  }
  /// Of several steps.
  std::string words(uint64_t first_step, uint64_t step_count, std::span<const size_t> slices) const;
};

} // namespace troupe
