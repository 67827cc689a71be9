#include "models/math/moves.hpp"

#include "models/base/copy_values.hpp"
#include "models/device/device_queue.hpp"
#include "models/math/reduction.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace troupe {

namespace {

/// Calls use(columns of a row of `from`, columns of the row of `to`); on a device it is the kernel's turn.
template <class Use>
void for_each_row(const char* kernel, const column_range<const float>& from,
                  const column_range<float>& to, size_t width, size_t rows, const Use& use) {
  if (rows == 0 || width == 0)
    return;
  if (auto* const device = device_of(to.rows))
    return device->run(kernel, rows * width,
                       {from.rows.subspan(from.first), from.row_size, to.rows.subspan(to.first),
                        to.row_size, width});
  for (size_t i = 0; i < rows; ++i)
    use(from.rows.subspan(i * from.row_size + from.first, width),
        to.rows.subspan(i * to.row_size + to.first, width));
}

} // namespace

void fill_values(std::span<float> values, float value) {
  if (auto* const device = device_of(values))
    return device->run("fill", values.size(), {values, value});
  if (value == 0 &&
      !std::signbit(value)) // a constant: the compiler knows how memory is cleared fastest
    std::ranges::fill(values, 0.0f);
  else
    std::ranges::fill(values, value);
}

void copy_floats(std::span<const float> from, std::span<float> to) {
  if (from.size() != to.size())
    throw std::invalid_argument("copy: spans of two sizes");
  if (from.empty())
    return;
  auto* const source = device_of(from);
  auto* const target = device_of(to);
  if (source && target)
    return copy_columns({from, from.size(), 0}, {to, to.size(), 0}, to.size(), 1);
  if (target)
    return target->upload(from, to);
  if (source)
    return source->download(from, to);
  copy_values(from, to.begin());
}

void copy_columns(const column_range<const float>& from, const column_range<float>& to,
                  size_t width, size_t rows) {
  for_each_row("copy_columns", from, to, width, rows,
               [](auto some, auto place) { copy_values(some, place.begin()); });
}

void add_columns(const column_range<const float>& from, const column_range<float>& to, size_t width,
                 size_t rows) {
  for_each_row("add_columns", from, to, width, rows,
               [](auto some, auto place) { add_into(place, some); });
}

} // namespace troupe
