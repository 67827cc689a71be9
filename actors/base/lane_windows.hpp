// The windows of lanes (coordinators/step/lane_order.hpp) that a process is at: of each slice that
// somebody here computes, the one it trains on and the one that comes next, whose chunks are read
// meanwhile. Slices come and go with the views; a slice that is new here costs its window to be read.
//
// Memory: at most two windows for each slice, and the chunks of both (one more where a step has
// rows of two). Opening a window takes its permutation: some 15 ns a row, once.

#pragma once

#include "coordinators/step/lane_order.hpp"
#include "data/training_rows/batch_reader.hpp"
#include "data/training_rows/row_source.hpp"

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

namespace troupe {

class lane_windows {
public:
  /// The rows of `source`, in the order of lanes.
  lane_windows(std::shared_ptr<const row_source> source, const lane_options& options);
  ~lane_windows();

  /// The rows of a slice of a step; good until the reader's next use. Thread-safe.
  batch of_slice(uint64_t step, size_t slice, batch_reader& reader);

  /// Their numbers, without the rows.
  std::vector<size_t> numbers(uint64_t step, size_t slice) const;

private:
  struct window;
  using window_ptr = std::shared_ptr<window>;

  /// The windows with these positions of a slice's lane, in order; the one behind them is opened.
  std::vector<window_ptr> open(uint64_t epoch, size_t slice, const index_range& positions,
                               bool goes_on);
  window_ptr find_or_open(uint64_t epoch, size_t slice, size_t number);
  std::shared_ptr<const lane_epoch> order_of(uint64_t epoch);
  batch rows_of(const window& from, const index_range& positions, batch_reader& reader) const;

  std::shared_ptr<const row_source> source_;
  lane_order order_;
  timeline plan_;
  std::mutex mutex_;                                    ///< guards what follows
  std::list<std::shared_ptr<const lane_epoch>> orders_; ///< of the epochs asked for last
  std::vector<std::list<window_ptr>> windows_;          ///< of each slice, last used first
};

// ---- Whether windows mix a file: what the first windows of all lanes hold of each class ----

/// A class that the first steps hardly see, though the rows have it.
struct missed_class {
  size_t number = 0;
  size_t expected = 0; ///< rows of it in as many rows drawn from all
  size_t found = 0;    ///< in the first windows of all lanes
};

/// The class that the first windows of the first epoch miss most, if they hold less than a quarter of
/// the rows of it that chance would give, and chance would give 20 at least: rows are sorted, or
/// nearly so. Reads the labels of these windows' chunks. Nothing for numbers.
std::optional<missed_class> class_missed_by_windows(const row_source& rows,
                                                    const lane_options& lanes,
                                                    const std::vector<size_t>& class_counts);

} // namespace troupe
