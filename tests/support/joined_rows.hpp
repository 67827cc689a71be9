// All rows of a file that is read a few at a time, put together.

#pragma once

#include "data/table/row_reader.hpp"

#include <gtest/gtest.h>

namespace troupe::test {

/// `reader` has `next(table_chunk&, rows_max)`; no chunk may have more rows than that.
template <class Reader>
table_chunk joined_rows(Reader& reader, size_t rows_max) {
  table_chunk all;
  for (table_chunk rows; reader.next(rows, rows_max);) {
    EXPECT_LE(rows.row_count, rows_max);
    all.features.insert(all.features.end(), rows.features.begin(), rows.features.end());
    all.target_cells.insert(all.target_cells.end(), rows.target_cells.begin(),
                            rows.target_cells.end());
    all.lines.insert(all.lines.end(), rows.lines.begin(), rows.lines.end());
  }
  return all;
}

} // namespace troupe::test
