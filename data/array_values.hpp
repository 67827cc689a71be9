// The elements of a binary array, block by block: as float32 for features, and one by one as a
// double and as text for targets. A block fits the second cache, so the values of a large file are
// touched once in memory.

#pragma once

#include "troupe/data/array_header.hpp"
#include "troupe/data/binary_source.hpp"

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

  /// Of `count` elements at the front of `source`. Both arguments must live on.
  array_values(binary_source& source, const array_header& header, uint64_t count);

  /// The next block, at most `block_size` values; empty after the last. Valid until the next call.
  ///
  /// Throws failure(bad_data), naming the byte, for an element that is not finite or does not fit a
  /// float32, and when the file ends early; what text_source throws.
  std::span<const float> next();

  /// Element `i` of the last block.
  double number(size_t i) const;

  /// The same in decimal: the shortest text that is the element.
  std::string text(size_t i) const;

private:
  void check(size_t count) const;

  binary_source& source_;
  const array_header& header_;
  uint64_t left_;             ///< elements not read yet
  uint64_t block_offset_ = 0; ///< of the last block in the file
  std::vector<char> bytes_;   ///< the last block as it stands in the file
  std::vector<float> values_; ///< the last block
};

} // namespace troupe
