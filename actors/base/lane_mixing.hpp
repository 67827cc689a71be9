// Whether windows of lanes mix a file: what the first windows of all lanes hold of each class.

#pragma once

#include "troupe/coordinators/step/lane_order.hpp"
#include "troupe/data/training_rows/row_source.hpp"

#include <cstddef>
#include <optional>
#include <vector>

namespace troupe {

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
