// Columns of a CSV file that are neither features nor the target, but say something of their row: whose it is,
// which rows it stays together with, what it counts.

#pragma once

#include "data/formats/csv/csv_options.hpp"
#include "data/formats/csv/csv_reader.hpp"
#include "data/table/table.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace troupe {

/// Clients' names as rows come that say whose they are, and their numbers in the end.
class client_finder {
public:
  /// The next row is this client's.
  void add(const std::string& name);

  /// The rows' clients, as numbers of the names sorted by bytes: they do not depend on the order of
  /// rows.
  void finish(std::vector<uint32_t>& clients, std::vector<std::string>& names) &&;

private:
  std::unordered_map<std::string, uint32_t> found_; ///< in order of appearance
  std::vector<uint32_t> rows_;
};

class side_columns {
public:
  /// Finds the columns that the options name. Throws failure(bad_data) for one that is not there, is the
  /// target or another of them, and when no feature is left.
  side_columns(const csv_reader& file, const csv_options& options, size_t target);

  /// The target and, behind it, these: what the reader is to give as targets.
  const std::vector<size_t>& columns() const noexcept { return columns_; }

  /// Takes their cells out of the last rows of `rows`, whose lines are those of these rows; the target's stay.
  /// Throws failure(bad_data), naming the line, for a weight that is no finite number of 0 or more.
  void take(table_chunk& rows, size_t row_count);

  /// What they said, of all rows. Throws failure(bad_data) when all weights are 0. Once.
  void finish(table& out);

private:
  void add(const std::string& wanted, const std::string& use, size_t& slot);
  void take_row(const std::string* cells, const double* numbers, size_t line);

  const csv_reader& file_;
  std::vector<size_t> columns_;
  size_t client_ = 0; ///< places in `columns_`; 0: nothing says so
  size_t group_ = 0;
  size_t weight_ = 0;
  client_finder clients_;
  client_finder groups_;
  std::vector<float> weights_;
};

} // namespace troupe
