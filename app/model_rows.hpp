// Data for a model that was trained earlier: a CSV file whose columns are matched with the model's
// features and targets before a row is read.

#pragma once

#include "troupe/data/csv_reader.hpp"
#include "troupe/data/saved_model.hpp"

#include <string>

namespace troupe {

/// Rows computed at a time by `evaluate` and `predict`: whole chunks, a power of two of them, so
/// that sums over parts are those of the canonical tree over all chunks. 4,096 rows of 1,000
/// features are 16 MiB.
inline constexpr size_t model_rows_part = 16 * prediction_chunk_rows;

struct model_rows_options {
  std::string file;
  csv_header header = csv_header::automatic;
  std::string target; ///< the target's column; empty: the model's name for it, else the last
};

struct model_rows {
  csv_reader reader;      ///< its targets are set
  bool has_targets;       ///< else every column is a feature
  std::string assumption; ///< which columns were taken for what, in words
};

/// Opens a file and decides by the number of its columns: the model's features alone, or with its
/// targets. Throws failure: bad_data when neither fits or when both have names and they differ
/// (the message lists the differences); usage for a --target when the model has several; what
/// csv_reader throws.
model_rows open_rows(const saved_model& model, const model_rows_options& options);

/// The class of each row of `rows`, for a classification. Throws failure(bad_data) naming the line
/// of a label that the model does not know.
std::vector<int32_t> labels_of(const table_chunk& rows, const class_finder& classes,
                               const saved_model& model, const std::string& path);

/// The N x T targets of `rows` as numbers. Throws failure(bad_data) naming the line of one that is
/// not a finite float32.
std::vector<float> targets_of(const table_chunk& rows, const saved_model& model,
                              const std::string& path);

} // namespace troupe
