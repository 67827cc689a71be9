// Prepares rows that stay in a file: who trains on them reads windows of them (stored_source.hpp).
// What `prepare` does to all rows is done to each when it is read.

#pragma once

#include "troupe/data/rows_file/rows_file.hpp"
#include "troupe/data/training_rows/prepare.hpp"

namespace troupe {

/// By lanes: `options.chunk_rows` are the file's. Takes no time for the rows unless some are kept for
/// testing or validation: then labels or targets are read.
///
/// Throws failure(bad_data) when no row would be left for training; what rows_file throws.
prepared_data prepare_stored(rows_file file, const prepare_options& options);

} // namespace troupe
