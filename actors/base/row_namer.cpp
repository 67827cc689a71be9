#include "troupe/actors/base/row_namer.hpp"

#include "troupe/data/training_rows/chunk_split.hpp"

#include <algorithm>
#include <iterator>

namespace troupe {

namespace {

/// Names of more rows fill a screen and help nobody.
constexpr size_t named_rows_max = 64;

} // namespace

std::vector<size_t> row_namer::rows_of(uint64_t step, size_t slice) const {
  const auto numbers = rows->numbers(step, slice);
  if (source) {
    std::vector<size_t> result;
    for (const auto number : numbers)
      result.push_back(source->at(number));
    return result;
  }
  // Rows for testing and validation may lie in files of their own.
  const part_sizes sizes{kept.test > 0 ? rows->evaluated().test : 0,
                         kept.validation > 0 ? rows->evaluated().validation : 0};
  const auto row_count = rows->training_row_count() + sizes.test + sizes.validation;
  return chunk_rows == 0 ? source_rows(seed, row_count, sizes, numbers)
                         : chunk_split{seed, row_count, chunk_rows, kept}.source_rows(numbers);
}

std::string row_namer::words(uint64_t first_step, uint64_t step_count,
                             std::span<const size_t> slices) const {
  std::vector<size_t> all;
  for (auto step = first_step; step < first_step + step_count; ++step)
    for (const auto slice : slices)
      std::ranges::copy(rows_of(step, slice), std::back_inserter(all));
  std::ranges::sort(all);
  std::string result = all.size() == 1 ? "row" : "rows";
  const auto shown = std::min(all.size(), named_rows_max);
  for (size_t i = 0; i < shown; ++i)
    result += (i == 0 ? " " : i + 1 == all.size() ? " and " : ", ") + std::to_string(all[i] + 1);
  if (shown < all.size())
    result += " and " + std::to_string(all.size() - shown) + " more";
  return result + (file.empty() ? " of the data" : " of " + file);
}

} // namespace troupe
