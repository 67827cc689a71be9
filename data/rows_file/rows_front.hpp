// What a file of rows says of itself, held against the file's size: the checks on its header.

#pragma once

#include "troupe/data/model_file/safetensors_header.hpp"
#include "troupe/data/rows_file/rows_header.hpp"

#include <cstdint>
#include <string>

namespace troupe {

/// The rows that a header tells of, without checksums and statistics, and where all lies.
struct told_rows {
  rows_header header;
  rows_places places;
};

/// `front_bytes` are the header's and those of its length, `file_bytes` the whole file's.
///
/// Throws failure(bad_data), naming the path and, where there is one, the tensor, when the header is
/// not that of a file of rows, when shapes contradict each other, when tensors leave holes or
/// overlap, and when the file is longer or shorter than they are.
told_rows told_rows_of(const safetensors_header& header, uint64_t front_bytes, uint64_t file_bytes,
                       const std::string& path);

} // namespace troupe
