// Makes a file of rows (rows_header.hpp) of rows in another format, which are read twice: first to
// count them and to find out what their targets are, then to write them. Memory is for a chunk, and
// where rows are shuffled for a bucket of them.

#pragma once

#include "data/rows_file/rows_header.hpp"
#include "data/table/row_reader.hpp"
#include "data/table/table.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace troupe {

/// Opens the rows from their beginning, with one target chosen.
using row_opener = std::function<std::unique_ptr<row_reader>()>;

/// Told between parts: rows done, and of how many, 0 while nobody knows.
using rows_listener = std::function<void(uint64_t done, uint64_t of)>;

struct convert_options {
  std::string target_name;
  target_use use = target_use::by_content;
  std::optional<uint64_t> chunk_rows; ///< absent: default_chunk_rows
  std::optional<uint64_t> shuffle;    ///< a seed: rows are written in random order
  rows_listener on_progress;          ///< may be empty
};

/// Writes the rows of `open` to `path` and returns what the file tells. Features that are all whole
/// numbers from 0 to 255 are kept as bytes.
///
/// Throws failure: bad_data as the readers do, when there are no rows, and when the two readings
/// differ; what atomic_file throws.
rows_header convert_rows(const row_opener& open, const std::string& path,
                         const convert_options& options);

} // namespace troupe
