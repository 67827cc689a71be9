// The timeline of a job: which rows a step trains on, where epochs end, when to evaluate.
//
// Steps are counted from 0; version v is the state after v steps. Epoch e (from 0) trains the
// steps [e K, (e + 1) K), K = ceil(rows / batch size); each step takes the next rows of the
// epoch's order, the last step of an epoch what is left. Everything follows from these numbers, so
// all actors agree without asking.

#pragma once

#include "coordinators/base/canonical_tree.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>

namespace troupe {

struct timeline {
  size_t row_count = 1;               ///< training rows, >= 1
  size_t batch_size = 1;              ///< rows of a whole step, 1 .. row_count
  size_t slice_count = 1;             ///< >= 1
  size_t epoch_count = 1;             ///< >= 1
  std::optional<uint64_t> step_limit; ///< >= 1
  size_t evaluate_every = 1;          ///< epochs; 0: at the end only
  size_t history_every = 1;           ///< epochs, >= 1

  uint64_t steps_in_epoch() const;
  /// The version after all epochs; the largest number when that is beyond counting.
  uint64_t version_after_epochs() const;
  /// The version at which training ends when no rule ends it before.
  uint64_t last_version() const;
  /// The epoch of a step, from 0.
  uint64_t epoch_of(uint64_t step) const { return step / steps_in_epoch(); }
  /// Positions in the epoch's order that a step trains on.
  index_range rows_of(uint64_t step) const;
  /// Training rows of the steps before `version`, each row once a step that trains on it; the
  /// largest number when that is beyond counting.
  uint64_t rows_before(uint64_t version) const;
  /// Positions of one slice of a step: of n rows from b, [b + floor(i n / S), b + floor((i+1) n /
  /// S)).
  index_range rows_of_slice(uint64_t step, size_t slice) const;
  bool slice_exists(uint64_t step, size_t slice) const {
    return !rows_of_slice(step, slice).empty();
  }
  bool is_epoch_end(uint64_t version) const {
    return version > 0 && version % steps_in_epoch() == 0;
  }
  /// True when the history has a row of this version: each `history_every`th end of an epoch, and
  /// whatever is evaluated.
  bool is_row(uint64_t version) const;
  /// The first version with a row above `version`, and the last at or below it (0: none).
  uint64_t next_row(uint64_t version) const;
  uint64_t last_row(uint64_t version) const;
  /// True when the timeline asks for an evaluation of this version: a scheduled one, or the last.
  bool evaluates(uint64_t version) const;
  /// True when a timeline of any length asks for it: each `evaluate_every`th end of an epoch.
  bool schedules_evaluation(uint64_t version) const;
  /// The first evaluated version above `version`, at most last_version().
  uint64_t next_evaluation(uint64_t version) const;

  friend bool operator==(const timeline&, const timeline&) = default;
};

/// Every replica evaluates rows in chunks of this many: equal work, equal shapes.
inline constexpr size_t evaluation_chunk_rows = 256;

/// Chunks of `row_count` rows; the last one may be short.
size_t evaluation_chunk_count(size_t row_count);

/// Rows of one chunk.
index_range evaluation_chunk(size_t row_count, size_t chunk);

/// What an evaluation computes: the chunks of the test rows, then those of the validation rows.
struct evaluation_rows {
  size_t test = 0;       ///< rows
  size_t validation = 0; ///< rows

  bool empty() const { return test + validation == 0; }
  size_t test_chunk_count() const { return evaluation_chunk_count(test); }
  size_t chunk_count() const { return test_chunk_count() + evaluation_chunk_count(validation); }
  /// Of the test rows, or of the validation rows.
  index_range rows_of_chunk(size_t chunk) const {
    const auto of_test = test_chunk_count();
    return chunk < of_test ? evaluation_chunk(test, chunk)
                           : evaluation_chunk(validation, chunk - of_test);
  }

  friend bool operator==(const evaluation_rows&, const evaluation_rows&) = default;
};

} // namespace troupe
