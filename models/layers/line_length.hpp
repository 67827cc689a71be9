// Lengths of short lines of values, such as the channels of a place: known when the program is compiled,
// they are copied without a loop.

#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

namespace troupe {

namespace detail {

template <class Use, size_t... usual>
void with_length(size_t length, const Use& use, std::index_sequence<usual...>) {
  const bool is_usual =
    ((length == usual && (use(std::integral_constant<size_t, usual>{}), true)) || ...);
  if (!is_usual)
    use(length);
}

} // namespace detail

/// Calls use(length) once, with a std::integral_constant where it is a usual one: the channels of images and
/// of small networks, and lines of their kernels.
template <class Use>
void with_length(size_t length, const Use& use) {
  detail::with_length(length, use,
                      std::index_sequence<1, 2, 3, 4, 5, 6, 7, 8, 9, 15, 16, 18, 24, 30, 32>{});
}

} // namespace troupe
