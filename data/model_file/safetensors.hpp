// The safetensors format: named float32 tensors in one file that Python, Rust and C++ programs
// read.
//
//   8 bytes   length of the header, little-endian
//   header    JSON: {"__metadata__": {name: text, ..},
//                    tensor: {"dtype": "F32", "shape": [..], "data_offsets": [begin, end]}, ..}
//   data      the tensors, row-major, little-endian; offsets count from here
//
// We write the header padded with spaces, so that the data begin at a multiple of 8 bytes, and the
// tensors packed in layout order. What we read may come from anywhere: nothing in a file is
// believed before it was checked, and memory stays within the file's size.

#pragma once

#include "data/disk/stored_tensor.hpp"
#include "models/network/parameter_layout.hpp"

#include <cstddef>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace troupe {

class atomic_file; // data/disk/atomic_file.hpp

struct safetensors_file {
  std::map<std::string, std::string> metadata;
  parameter_layout layout;   ///< tensors in the order of their offsets
  std::vector<float> values; ///< of all tensors, layout.size() elements
  std::string data_sha256;   ///< SHA-256 of the data section, hexadecimal
};

/// Writes the file atomically and returns the SHA-256 of its data section, hexadecimal. The same
/// arguments give the same bytes. `values` are in working order, those of the file in logical order;
/// they are never whole in memory unless they were.
///
/// Throws std::invalid_argument when `values` are not layout.size() elements, when a name or
/// metadata text is not UTF-8, and when a tensor is called "__metadata__"; what
/// atomic_file throws; what reading `values` throws.
std::string write_safetensors(const std::string& path, const parameter_layout& layout,
                              const stored_tensor& values,
                              const std::map<std::string, std::string>& metadata);
std::string write_safetensors(const std::string& path, const parameter_layout& layout,
                              std::span<const float> values,
                              const std::map<std::string, std::string>& metadata);
/// The same, to a file that is open, for which room may have been taken.
std::string write_safetensors(atomic_file& file, const parameter_layout& layout,
                              const stored_tensor& values,
                              const std::map<std::string, std::string>& metadata);

/// The SHA-256 that a file with these values has for its data section, hexadecimal.
std::string safetensors_data_sha256(const parameter_layout& layout, const stored_tensor& values);

/// Reads a file whose tensors are all "F32" and leave no hole. A tensor without extents (a scalar)
/// gets the shape {1}: layouts know no scalars.
///
/// Throws failure: bad_data, naming the path and, where there is one, the tensor; what text_source
/// throws for a file that cannot be opened or read.
safetensors_file read_safetensors(const std::string& path);

// A model's values in logical order, part by part: for files and digests of models that are larger
// than the memory there is. Values lie in working order (parameter_layout.hpp), where a few rows of a
// tensor that is cut in T parts are T runs.

/// Values of a part, at most, unless told otherwise: 4 MiB. What is read from a checkpoint is checked by
/// chunks of 1 MiB: with much smaller parts, each would be read many times.
inline constexpr size_t logical_part_values = size_t{1} << 20;

/// Calls `take` with all values, in logical order, at most `most` at a time (>= 1). Throws what reading
/// `working` throws; std::invalid_argument when it is not layout.size() values.
void for_each_logical_part(const parameter_layout& layout, const stored_tensor& working,
                           const std::function<void(std::span<const float>)>& take,
                           size_t most = logical_part_values);

} // namespace troupe
