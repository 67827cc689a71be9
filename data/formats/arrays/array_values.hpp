// The elements of a binary array, block by block: as float32 for features, and one by one as a
// double and as text for targets. A block of the file fits the first cache, and its values go from
// there straight to where they stay: memory is touched once.

#pragma once

#include "data/formats/arrays/array_header.hpp"
#include "data/source/binary_source.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace troupe {

class array_values {
public:
  /// Elements of a block: 64 KiB as float32.
  static constexpr size_t block_size = size_t{1} << 14;

  /// Of the elements at the front of `source`. Both arguments must live on.
  array_values(binary_source& source, const array_header& header)
    : source_(source), header_(header) {}

  /// Appends the next block to `out`, `count` values but at most `block_size`; returns how many.
  ///
  /// Throws failure(bad_data), naming the byte, for an element that is not finite or does not fit a
  /// float32, and when the file ends early; what text_source throws.
  size_t append(uint64_t count, std::vector<float>& out);

  /// Element `i` of the last block.
  double number(size_t i) const;

  /// The same in decimal: the shortest text that is the element.
  std::string text(size_t i) const;

private:
  [[noreturn]] void refuse(std::span<const float> values) const;

  binary_source& source_;
  const array_header& header_;
  uint64_t block_offset_ = 0; ///< of the last block in the file
  std::vector<char> bytes_;   ///< the last block as it stands in the file
};

} // namespace troupe
