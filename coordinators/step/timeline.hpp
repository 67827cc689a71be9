// The timeline of a job: which rows a step trains on, where epochs end, when to evaluate.
//
// Steps are counted from 0; version v is the state after v steps. Epoch e (from 0) trains the
// steps [e K, (e + 1) K), K = ceil(rows / batch size); each step takes the next rows of the
// epoch's order, the last step of an epoch what is left. Everything follows from these numbers, so
// all actors agree without asking.
//
// Rows may lie in holdings, which some nodes have and others do not. Then each slice is of one holding, for good: the
// holding's rows, in an order of its own, are cut into lanes, one for each of its slices, and a step takes from each
// lane in proportion. Of a lane of L rows, of N in all and S slices, lane l has given after b rows of the epoch
//
//   T(b) = floor((L b S + l N) / (N S)) rows
//
// so all lanes end together with the epoch, and of equal ones a step takes batch_size rows exactly (Hermite's
// identity); of others it takes less than S rows more or fewer.
//
// With fewer slices than holdings each step is of one holding: of its K steps of an epoch, ceil(rows / batch size), the
// j-th (from 0) stands at (2 j + 1) / (2 K) of the epoch. Where two stand together the first holding is first.

#pragma once

#include "coordinators/base/canonical_tree.hpp"
#include "models/training/row_options.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace troupe {

/// Rows that are trained on by some slices alone, and by these alone.
struct holding_lanes {
  size_t row_count = 0; ///< training rows, >= 1
  index_range slices{}; ///< of each step; none: some steps are of it alone

  friend bool operator==(const holding_lanes&, const holding_lanes&) = default;
};

/// `slice_count` slices for holdings of so many rows: one at least for each, and each further one for the holding whose
/// lanes are the longest, of equal ones for the first. Fewer slices than holdings: steps of one holding each.
std::vector<holding_lanes> share_slices(const std::vector<size_t>& row_counts, size_t slice_count);

/// A step that one holding's rows make.
struct held_step {
  size_t holding = 0;
  uint64_t number = 0; ///< of those of the holding in an epoch

  friend bool operator==(const held_step&, const held_step&) = default;
};

struct timeline {
  size_t row_count = 1;                  ///< training rows, >= 1
  size_t batch_size = 1;                 ///< rows of a whole step, 1 .. row_count
  size_t slice_count = 1;                ///< >= 1
  size_t epoch_count = 1;                ///< >= 1
  std::optional<uint64_t> step_limit;    ///< >= 1
  size_t evaluate_every = 1;             ///< epochs; 0: at the end only
  size_t history_every = 1;              ///< epochs, >= 1
  std::vector<holding_lanes> holdings{}; ///< of all slices in order; none: all rows are one

  uint64_t steps_in_epoch() const;
  /// The version after all epochs; the largest number when that is beyond counting.
  uint64_t version_after_epochs() const;
  /// The version at which training ends when no rule ends it before.
  uint64_t last_version() const;
  /// The epoch of a step, from 0.
  uint64_t epoch_of(uint64_t step) const { return step / steps_in_epoch(); }
  /// Positions in the epoch's order that a step trains on; where rows lie in holdings, in proportion. Of a step of one
  /// holding, in that holding's order.
  index_range rows_of(uint64_t step) const;
  /// Training rows of the steps before `version`, each row once a step that trains on it; the
  /// largest number when that is beyond counting.
  uint64_t rows_before(uint64_t version) const;
  /// Positions of one slice of a step: of n rows from b, [b + floor(i n / S), b + floor((i+1) n /
  /// S)). Where rows lie in holdings, positions in the order of the slice's own holding.
  index_range rows_of_slice(uint64_t step, size_t slice) const;
  /// Whether all slices of a step have rows.
  bool is_whole(uint64_t step) const;
  /// Whether each step is of one holding, and how many of an epoch are of this one.
  bool has_held_steps() const { return holdings.size() > slice_count; }
  uint64_t steps_of(size_t holding) const;
  /// Then the first step from `step` on that is of this holding.
  uint64_t next_step_of(size_t holding, uint64_t step) const;
  /// The holding of a slice of a step; 0 where rows lie in none.
  size_t holding_of(uint64_t step, size_t slice) const;
  /// Of a slice of any step, where all steps have rows of all holdings.
  size_t holding_of_slice(size_t slice) const;
  /// Positions in the order of a slice's holding that it trains on in an epoch, where all steps have some.
  index_range lane_of(size_t slice) const;
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

private:
  /// The number in its epoch of a holding's step.
  uint64_t place_of(const held_step& x) const;
  /// How many of the first `count` steps of an epoch are of a holding.
  uint64_t steps_of_before(size_t holding, uint64_t count) const;
  held_step held_step_at(uint64_t step) const;
};

/// Every replica evaluates rows in chunks of this many: equal work, equal shapes.
inline constexpr size_t evaluation_chunk_rows = 256;

/// Chunks of `row_count` rows; the last one may be short.
size_t evaluation_chunk_count(size_t row_count);

/// Rows of one chunk.
index_range evaluation_chunk(size_t row_count, size_t chunk);

/// Rows for testing, or for validation, in chunks that no two holdings share.
class chunked_rows {
public:
  chunked_rows(size_t row_count = 0) : chunked_rows(std::vector<size_t>{row_count}) {}
  /// Of each holding.
  explicit chunked_rows(std::vector<size_t> row_counts);

  size_t row_count() const { return row_count_; }
  size_t chunk_count() const { return chunk_count_; }
  index_range rows_of_chunk(size_t chunk) const;
  /// Whether they are of several holdings, and then the chunks of each.
  bool is_held() const { return row_counts_.size() > 1; }
  index_range chunks_of(size_t holding) const;

  friend bool operator==(const chunked_rows&, const chunked_rows&) = default;

private:
  std::vector<size_t> row_counts_;
  size_t row_count_ = 0;
  size_t chunk_count_ = 0;
};

/// What an evaluation computes: the chunks of the test rows, then those of the validation rows.
struct evaluation_rows {
  chunked_rows test{};
  chunked_rows validation{};

  bool empty() const { return test.row_count() + validation.row_count() == 0; }
  size_t chunk_count() const { return test.chunk_count() + validation.chunk_count(); }
  bool is_test(size_t chunk) const { return chunk < test.chunk_count(); }
  /// Of the test rows, or of the validation rows.
  index_range rows_of_chunk(size_t chunk) const {
    return is_test(chunk) ? test.rows_of_chunk(chunk)
                          : validation.rows_of_chunk(chunk - test.chunk_count());
  }

  friend bool operator==(const evaluation_rows&, const evaluation_rows&) = default;
};

/// What an evaluation computes, of so many rows for testing and validation. Where holdings have rows for one of the two,
/// all of its rows are theirs; else they have come in a file of their own.
evaluation_rows evaluated_rows(size_t test, size_t validation,
                               const std::vector<holding_size>& holdings);

} // namespace troupe
