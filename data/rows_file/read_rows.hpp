// A file of rows (rows_header.hpp) read whole into memory, and its names without rows.

#pragma once

#include "troupe/data/rows_file/rows_file.hpp"
#include "troupe/data/table/dataset.hpp"

#include <cstdint>

namespace troupe {

/// Names and shape, without rows.
dataset names_of(const rows_header& header);

/// All rows. Throws failure(bad_data), with both numbers, when they need more memory than
/// `bytes_max` (0: than is available); what rows_file::read_chunk throws.
dataset read_rows(const rows_file& file, uint64_t bytes_max = 0);

} // namespace troupe
