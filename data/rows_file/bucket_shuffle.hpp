// Rows in random order without all of them in memory: each goes to one of many files without names,
// by chance; then each of these is read and shuffled in memory. All orders are equally likely but
// for the seed's limits, and the order is a function of (seed, rows, bytes of a row).

#pragma once

#include "data/rows_file/rows_writer.hpp"

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

namespace troupe {

class bucket_shuffle {
public:
  /// The files lie in `folder`, and take as much of its disk as the rows as float32.
  bucket_shuffle(const std::string& folder, uint64_t seed, const rows_header& header);

  /// Throws failure(io_error) when the disk is full.
  void append(const rows_part& rows);

  /// Gives all rows to `out`, in random order.
  void drain(rows_writer& out);

private:
  struct closer {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  struct pile {
    std::unique_ptr<std::FILE, closer> file;
    uint64_t row_count = 0;
  };

  [[noreturn]] void fail(const std::string& what) const;

  std::string folder_;
  uint64_t seed_;
  uint64_t feature_count_;
  uint64_t target_count_; ///< 0: a label
  uint64_t words_;        ///< of 4 bytes, of a row
  uint64_t appended_ = 0;
  std::vector<pile> buckets_;
  std::vector<float> row_;
};

} // namespace troupe
