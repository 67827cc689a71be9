#include "data/training_rows/chunk_split.hpp"

#include <algorithm>

namespace troupe {

chunk_split::chunk_split(uint64_t seed, size_t row_count, size_t chunk_rows,
                         const part_fractions& fractions)
  : seed_(seed),
    row_count_(row_count),
    chunk_rows_(chunk_rows),
    sizes_(sizes_of_parts(row_count, fractions)) {}

size_t chunk_split::rows_before(row_part part, size_t count) const {
  const auto test = sizes_.test * count / row_count_; // both are below 2^32
  const auto validation = sizes_.validation * (count - test) / (row_count_ - sizes_.test);
  switch (part) {
  case row_part::test:
    return test;
  case row_part::validation:
    return validation;
  case row_part::train:
  case row_part::none:
    break;
  }
  return count - test - validation;
}

std::vector<uint64_t> chunk_split::begins_of(row_part part) const {
  std::vector<uint64_t> result;
  for (size_t chunk = 0; chunk < chunk_count(); ++chunk)
    result.push_back(rows_before(part, chunk * chunk_rows_));
  result.push_back(rows_before(part, row_count_));
  return result;
}

std::vector<row_part> chunk_split::parts_of(size_t chunk) const {
  const auto begin = chunk * chunk_rows_;
  const auto end = std::min(begin + chunk_rows_, row_count_);
  const auto given = [&](row_part part) {
    return static_cast<std::ptrdiff_t>(rows_before(part, end) - rows_before(part, begin));
  };
  std::vector<row_part> result(end - begin, row_part::train);
  if (given(row_part::test) + given(row_part::validation) == 0)
    return result;
  std::vector<row_place> places;
  for (auto row = begin; row < end; ++row)
    places.push_back(place_of(seed_, row));
  const auto test_end = places.begin() + given(row_part::test);
  const auto validation_end = test_end + given(row_part::validation);
  std::ranges::nth_element(places, test_end);
  std::ranges::nth_element(test_end, validation_end, places.end());
  for (auto place = places.begin(); place != validation_end; ++place)
    result[place->second - begin] = place < test_end ? row_part::test : row_part::validation;
  return result;
}

std::vector<size_t> chunk_split::source_rows(std::span<const size_t> training_rows) const {
  const auto begins = begins_of(row_part::train);
  std::vector<size_t> result;
  for (const auto row : training_rows) {
    const auto after = std::ranges::upper_bound(begins, row);
    const auto chunk = static_cast<size_t>(after - begins.begin()) - 1;
    const auto parts = parts_of(chunk);
    auto left = row - begins[chunk];
    size_t place = 0;
    while (parts[place] != row_part::train || left-- > 0)
      ++place;
    result.push_back(chunk * chunk_rows_ + place);
  }
  return result;
}

} // namespace troupe
