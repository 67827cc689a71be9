// Numbers as people and programs write them in data files: decimal, with an optional sign, point
// and exponent ("3", "-0.5", "+1e-3", ".5"). No hexadecimal, no "nan" or "inf", no thousands
// separators, and never a comma for a point: the locale has no say here.

#pragma once

#include <cstdint>
#include <string_view>

namespace troupe {

enum class number_status : uint8_t {
  number,       ///< a finite number, written to `out`
  text,         ///< not a number
  not_finite,   ///< some spelling of infinity or not-a-number
  out_of_range, ///< a number, but too large for the type
};

/// Reads the whole of `text` as the nearest float32; smaller than the smallest becomes 0.
/// `out` is written only when the answer is `number`.
number_status read_number(std::string_view text, float& out);

/// The same for a double.
number_status read_number(std::string_view text, double& out);

} // namespace troupe
