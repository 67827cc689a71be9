// What the readers of CSV files are told (csv.hpp says what the format is).

#pragma once

#include "data/formats/csv/csv_dialect.hpp"
#include "data/formats/csv/csv_header.hpp"
#include "data/table/cell_coder.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace troupe {

struct csv_options {
  csv_header header = csv_header::automatic;
  /// "last" (always the last column), a column's name, or its 0-based index. Digits that are a
  /// column's name mean that column.
  std::string target = "last";
  /// A column, as `target`, that says whose a row is and is no feature; empty: none.
  std::string client = {};
  std::string weight = {};              ///< likewise: what a row counts in the loss
  std::string group = {};               ///< likewise: rows that stay together
  std::vector<std::string> ignore = {}; ///< columns, as `target`, that are not looked at
  column_choice columns = {};           ///< what they are to be, to make a plan of ..
  column_plan plan = {};                ///< .. or a plan that is there, of other rows of the kind
  csv_dialect dialect = {};
  size_t line_bytes_max = size_t{16} << 20; ///< of one record, line breaks in quotes included
  size_t columns_max = 1'000'000;
  uint64_t table_bytes_max = 0; ///< 0: the memory that is available (memory_room.hpp)
};

} // namespace troupe
