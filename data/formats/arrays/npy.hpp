// Reads the header of an NPY file, as numpy.save writes it: the magic "\x93NUMPY", the version (1.0
// to 3.0), the length of what follows, and a Python dictionary in text with exactly the keys
// 'descr' (type and byte order), 'fortran_order' and 'shape'.
// Source: NumPy reference, "The NPY format" (numpy.lib.format).

#pragma once

#include "troupe/data/formats/arrays/array_header.hpp"
#include "troupe/data/source/binary_source.hpp"

#include <string_view>

namespace troupe {

/// Whether a file that begins with `start` (6 bytes are enough) is an NPY file.
bool looks_like_npy(std::string_view start);

/// Reads the header from the front of `source` and leaves the values.
///
/// Types: bool, int and uint of 1 to 8 bytes, float of 4 and 8, either byte order. An array in
/// Fortran order is refused unless its order is C order too (at most one extent above 1).
/// Throws failure(bad_data), naming the byte, for all else; what binary_source throws.
array_header read_npy_header(binary_source& source);

} // namespace troupe
