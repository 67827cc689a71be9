// Data for a model that was trained earlier: a file of any format that training reads. Its columns
// are matched with the model's features and targets before any row is read. Rows then come part by
// part: the file may be larger than memory.

#pragma once

#include "app/commands/commands.hpp"
#include "data/formats/read_data.hpp"
#include "data/model_file/saved_model.hpp"
#include "data/table/row_reader.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace troupe {

/// Rows computed at a time by `evaluate` and `predict`: whole chunks, a power of two of them, so
/// that sums over parts are those of the canonical tree over all chunks. 4,096 rows of 1,000
/// features are 16 MiB.
inline constexpr size_t model_rows_part = 16 * prediction_chunk_rows;

enum class target_wish : uint8_t {
  ignored, ///< to predict: columns of targets are found and left out
  needed,  ///< to evaluate
};

struct model_rows {
  std::unique_ptr<row_reader> reader; ///< its targets are set; never null
  std::string assumption;             ///< which columns were taken for what, in words
  const column_plan* plan = nullptr;  ///< the model's, of coded cells; null: features are numbers
  std::function<std::vector<std::string>()> remarks{}; ///< of rows read so far; may be empty

  /// Reads as `row_reader::next` does; features are those of the model.
  bool next(table_chunk& out, size_t rows_max);

  /// After the last row: says on standard error what was left out, or counts as no category.
  void warn() const;
};

/// Opens a file ("-": standard input) and matches its columns with the model's. Where both have
/// names, by name, in any order; other columns are ignored. Else by their number: the model's
/// features alone, or with its targets. Targets of an array may stand in a file of labels.
///
/// Throws failure: bad_data when neither fits (the message lists missing names), or when needed
/// targets are missing; usage for an option that the format or the model has no use for, or with a
/// value that does not exist; what the reader of the format throws.
model_rows open_rows(const saved_model& model, const data_arguments& data, target_wish wish);

/// The value of --format; auto: what the file is. Throws failure(usage) for one that does not exist.
file_format format_option(const data_arguments& data);

/// Throws failure(usage) for an option that the format has no use for.
void require_use(const data_arguments& data, file_format format);

/// Rows of predictions (N x K) that are no finite numbers: their scores do not fit float32.
uint64_t unfit_rows(std::span<const float> predictions, size_t columns);

/// Says on standard error how many there were, if any.
void warn_of_unfit(uint64_t count, const saved_model& model);

/// The class of each row of `rows`, for a classification. Throws failure(bad_data) naming the place
/// of a label that the model does not know.
std::vector<int32_t> labels_of(const table_chunk& rows, const class_finder& classes,
                               const saved_model& model, const row_reader& reader);

/// The N x T targets of `rows` as numbers. Throws failure(bad_data) naming the place of one that is
/// not a finite float32, or that training with this loss would have refused.
std::vector<float> targets_of(const table_chunk& rows, const row_reader& reader,
                              const loss_options& loss);

} // namespace troupe
