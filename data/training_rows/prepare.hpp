// From a data set as read to what replicas train on: split into training, test and validation rows,
// standardised. A function of content, seed and options alone, the same on every machine.

#pragma once

#include "data/table/dataset.hpp"
#include "data/training_rows/holding_facts.hpp"
#include "data/training_rows/part_choice.hpp"
#include "models/losses/target_scale.hpp"
#include "models/network/start_values.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace troupe {

/// The affine map of standardised features: x' = (x - mean) / deviation, per column (F each). Sparse rows
/// stay sparse, so there is no mean, and what is called deviation is the largest magnitude in a column.
struct standardization {
  std::vector<float> mean;
  std::vector<float> deviation;

  bool empty() const { return deviation.empty(); }
  friend bool operator==(const standardization&, const standardization&) = default;
};

/// The map that standardises features which have these statistics.
standardization standardization_of(const column_statistics& columns);

/// Standardises `rows` (N x F, row-major) in place; `map` is not empty.
void standardize(const standardization& map, std::span<float> rows);

/// The same for entries of sparse rows: `values[i]` is of feature `features[i]`.
void standardize(const standardization& map, std::span<const uint32_t> features,
                 std::span<float> values);

/// Takes marks of categories and of gaps out of the map: they stay 0 or 1.
void leave_marks(const column_plan& plan, standardization& map);

class row_source; // data/training_rows/row_source.hpp

/// Rows by what they are for.
struct row_parts {
  std::shared_ptr<const row_source> train;
  std::shared_ptr<const row_source> test;
  std::shared_ptr<const row_source> validation;
};

/// What training wants to know of rows before it begins.
struct row_facts {
  std::vector<size_t> train_class_rows; ///< classification: of each class in the training rows
  double target_minimum = 0;            ///< regression: of all rows
  double target_maximum = 0;
};

/// Rows in memory, or rows that stay in a file: then train, test and validation have names, numbers
/// of rows and, but for train, labels or targets; and no features. Who computes on rows asks rows_of
/// (row_source.hpp).
struct prepared_data {
  dataset train;
  dataset test;       ///< no rows when none are kept for testing
  dataset validation; ///< likewise
  standardization
    features; ///< empty when the features are as read; of lent rows, which are, by rows_of
  target_scale scale{}; ///< of a regression's targets, which are as read; by the training rows
  std::shared_ptr<const start_values>
    start{};               ///< parameters that training begins from; null: those by the seed
  std::string fingerprint; ///< SHA-256 of the content as read, hexadecimal
  /// Names of features that look like a row's number or name: whole numbers that rise from row to
  /// row, or are called as such and never repeat. Trained on as they are; for a warning.
  std::vector<std::string> row_names{};
  std::vector<std::string> remarks{}; ///< what reading left out or did not know: for a warning
  std::string split_words{};          ///< how rows were split, unless by their numbers alone
  /// Then which rows of the source those for training are, in their order; else null.
  std::shared_ptr<const std::vector<uint32_t>> source_rows{};
  /// What each row of the source is for, asked for by rising rows; empty: rows stay in a file.
  std::function<row_part(size_t row)> part_of{};
  /// Training rows before each chunk, and at the end all of them, where rows are visited by lanes;
  /// else empty.
  std::vector<uint64_t> chunk_begins{};
  size_t chunk_rows = 0; ///< likewise: rows of a chunk, of whatever part
  row_parts stored{};    ///< rows in a file; null: in memory
  /// At least two, one behind the other in each part; none: all rows are one.
  std::vector<held_rows> holdings{};
  holding_facts held_facts{}; ///< of all of them together
  /// Where they have holders, the only one whose rows are here, if any; all numbers of rows are of all holdings.
  std::optional<size_t> own_holding{};
  row_facts facts{}; ///< of rows in a file

  bool stays_in_file() const { return stored.train != nullptr; }
  bool is_at_home() const { return !holdings.empty() && !holdings.front().holders.empty(); }
};

struct prepare_options {
  uint64_t seed = 0;       ///< of the job: decides which rows are for what
  part_options parts = {}; ///< which rows are for testing does not depend on those for validation
  /// By the training rows' mean and deviation (divisor n; 0 becomes 1); sparse rows by the largest
  /// magnitude of each feature alone.
  bool standardize = false;
  /// By lanes: rows lie in chunks of so many, each of which gives its share for testing and
  /// validation, and features are standardised by all rows. 0: without chunks.
  size_t chunk_rows = 0;
  target_scale_kind target_scale = target_scale_kind::none; ///< of a regression
  /// Gaps and features stay as they are: whoever has seen other rows, too, fills and scales them.
  bool leaves_gaps = false;
  // What a model to start from learned, in place of what the rows say.
  std::optional<standardization> features{}; ///< the map, if any; `standardize` does not count then
  std::optional<troupe::target_scale> scale{}; ///< `target_scale` does not count then

  bool standardizes() const { return features ? !features->empty() : standardize; }
};

/// Splits (rows that are in groups by groups), fills gaps with the training rows' means where the columns'
/// plan says so, and standardises, but for features that say which category a cell is or that it is
/// missing. Rows keep their order in all parts. Lent rows, which have no columns' plan, stay where and
/// as they are; with chunks they are copied.
///
/// Throws failure: bad_data for a data set that does not hold together (require_sound, dataset.hpp), when
/// no row would be left for training, when a column has no value there, and when all rows of a part have weight
/// 0; bad_job, naming the key, when rows in groups, or of a sequence, are to be split by class or to lie in chunks.
prepared_data prepare(dataset&& source, const prepare_options& options);

/// SHA-256 over shapes, names and values of a data set, hexadecimal.
std::string content_fingerprint(const dataset& source);

/// Gives the classes of `rows` the numbers they have in `classes`. Returns the first that is none of them; the rows are
/// then as they were.
std::optional<std::string> renumber_classes(dataset& rows, const std::vector<std::string>& classes);

// Rows for testing or validation that come in a file of their own.

/// Takes `rows`, read from `path`, for that part of `data`, test or validation: their classes get the
/// numbers of the training rows' classes, and their features are scaled as those. The fingerprint is then
/// of both.
///
/// Throws failure(bad_data), naming the path, when features or targets are not those of the training
/// rows, or a class is none of theirs.
void add_given_rows(row_part part, dataset rows, const std::string& path, prepared_data& data);

} // namespace troupe
