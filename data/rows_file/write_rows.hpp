// Writes rows that are in memory as a file of rows (rows_header.hpp).

#pragma once

#include "troupe/data/rows_file/rows_file.hpp"
#include "troupe/data/table/dataset.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace troupe {

/// What a file of these rows tells of itself, but for checksums and statistics. Features that are all
/// whole numbers from 0 to 255 are bytes. `chunk_rows`: absent: default_chunk_rows.
rows_header rows_header_of(const dataset& rows, std::optional<uint64_t> chunk_rows = {});

/// Throws what rows_writer throws.
void write_rows(const std::string& path, const dataset& rows,
                std::optional<uint64_t> chunk_rows = {});

/// Writes the rows [begin, end) of `file`, and returns what the new one tells. Throws what rows_file
/// and rows_writer throw.
rows_header write_part(const rows_file& file, uint64_t begin, uint64_t end,
                       const std::string& path);

} // namespace troupe
