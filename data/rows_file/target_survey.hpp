// Finds out what a target column holds while its rows pass by: the classes and how many rows each
// has, or the range of its numbers. The rules are those of `to_dataset` (data/table/table.hpp);
// memory is for the different cells of a class column, not for rows.

#pragma once

#include "troupe/data/rows_file/rows_header.hpp"
#include "troupe/data/table/row_reader.hpp"
#include "troupe/data/table/table.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace troupe {

class target_survey {
public:
  target_survey(std::string source, std::string target_name, target_use use);

  /// The cells of the next rows: one target each.
  void add(const table_chunk& rows);

  /// Writes classes and class_rows, or the range of the numbers, to `out`. Throws what to_dataset
  /// throws; failure(bad_data) when text comes behind what looked like numbers.
  void tell(rows_header& out) const;

private:
  bool keeps_cells() const;

  std::string source_;
  std::string target_name_;
  target_use use_;
  uint64_t row_count_ = 0;
  bool all_numbers_ = true;
  bool all_whole_ = true;
  bool gave_up_cells_ = false; ///< too many different numbers for classes
  double minimum_ = 0;
  double maximum_ = 0;
  std::map<std::string, uint64_t> rows_of_; ///< by cell
  std::vector<std::string> cells_;          ///< different ones, as they came
};

} // namespace troupe
