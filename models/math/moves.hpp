// Values that change their place, on the processor or on a device (models/device/device_memory.hpp).

#pragma once

#include <cstddef>
#include <span>

namespace troupe {

void fill_values(std::span<float> values, float value);

/// Both have one size. They do not overlap. Also between the processor and a device, with waiting.
void copy_floats(std::span<const float> from, std::span<float> to);

/// Columns of dense rows.
template <class T>
struct column_range {
  std::span<T> rows;
  size_t row_size = 0;
  size_t first = 0; ///< of the columns
};

/// `width` columns from `from.first` on of each of these rows, to those from `to.first` on.
void copy_columns(const column_range<const float>& from, const column_range<float>& to,
                  size_t width, size_t rows);
/// The same, added.
void add_columns(const column_range<const float>& from, const column_range<float>& to, size_t width,
                 size_t rows);

} // namespace troupe
