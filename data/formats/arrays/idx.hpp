// Reads the header of an IDX file, the format of MNIST and its relatives: two zero bytes, a byte
// for the type (0x08 uint8, 0x09 int8, 0x0b int16, 0x0c int32, 0x0d float32, 0x0e float64), a byte
// for the number of dimensions, then each extent as a 32-bit number. Everything is big-endian.
// Source: Y. LeCun, C. Cortes, C. Burges, "The MNIST database of handwritten digits".

#pragma once

#include "troupe/data/formats/arrays/array_header.hpp"
#include "troupe/data/source/binary_source.hpp"

#include <string_view>

namespace troupe {

/// Whether a file that begins with `start` (4 bytes are enough) is an IDX file.
bool looks_like_idx(std::string_view start);

/// Reads the header from the front of `source` and leaves the values.
///
/// Throws failure(bad_data), naming the byte, for a wrong magic number, a type that does not exist,
/// and no or more than 8 dimensions; what binary_source throws.
array_header read_idx_header(binary_source& source);

} // namespace troupe
