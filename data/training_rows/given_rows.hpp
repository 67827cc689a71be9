// Rows for testing or validation that come in a file of their own.

#pragma once

#include "troupe/data/training_rows/part_choice.hpp"
#include "troupe/data/training_rows/prepare.hpp"

#include <string>

namespace troupe {

/// Takes `rows`, read from `path`, for that part of `data`, test or validation: their classes get the
/// numbers of the training rows' classes, and their features are scaled as those. The fingerprint is then
/// of both.
///
/// Throws failure(bad_data), naming the path, when features or targets are not those of the training
/// rows, or a class is none of theirs.
void add_given_rows(row_part part, dataset rows, const std::string& path, prepared_data& data);

} // namespace troupe
