// Past rows: what the director knew at each of the last rows, so that a term can begin behind any of them.
//
//   rows     r1        r2        r3 (complete)    next row
//   versions |---------|---------|----------------|
//            a term that begins in here goes on with what was known at the row before
//
// A row whose parameters are being kept is not complete: what is known then is not all there.

#pragma once

#include "coordinators/run/director_rule.hpp"
#include "data/disk/stored_tensor.hpp"

#include <cstdint>
#include <map>

namespace troupe {

struct past_row {
  director_memory memory;
  stored_tensor best_parameters;
};

class past_rows {
public:
  explicit past_rows(const timeline& plan) : plan_(plan) {}

  void clear() { rows_.clear(); }

  /// Best versions whose parameters are kept, the newest one's included.
  static constexpr size_t bests_max = 3;

  /// Adds the newest complete row, which may be known: then nothing happens, and it returns false. Rows that no term can
  /// begin behind, so many steps back, go; so do those with more best versions than are kept, and those before a row that
  /// was not added.
  bool add(const past_row& newest, uint64_t row_version, uint64_t reach);

  /// The versions behind them, at which a term may begin.
  index_range versions() const;

  /// What was known at one of these versions. Later rows are undone.
  past_row return_to(uint64_t version);

private:
  size_t best_count() const;

  timeline plan_;
  std::map<uint64_t, past_row> rows_; ///< by version
};

} // namespace troupe
