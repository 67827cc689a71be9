// Reads sparse text as LIBSVM, SVMlight and their data sets write it, plain or gzip, into a dense
// table:
//
//   label index:value index:value ...   # a comment
//
// A row names the values that are not zero, by strictly rising index; all others are zero. Blanks
// separate; lines of nothing but a comment do not count; empty lines may only come last.
// Source: C.-C. Chang, C.-J. Lin, "LIBSVM: a library for support vector machines".

#pragma once

#include "troupe/data/table/table.hpp"

#include <cstddef>
#include <cstdint>
#include <string>

namespace troupe {

struct libsvm_options {
  size_t index_base = 1; ///< the index of the first feature: 0 or 1
  size_t features_max = 1'000'000;
  size_t line_bytes_max = size_t{16} << 20;
  /// A few bytes of text can ask for any size of table. The table may have so many values for each
  /// byte of text, and 4 Mi besides: 64 bytes of memory a byte.
  size_t values_per_byte_max = 16;
  uint64_t table_bytes_max = 0; ///< 0: the memory that is available (table_limit.hpp)
};

/// Reads the file at `path`. There are as many features as the largest index asks for; each is
/// called by its index as the file counts. While reading, 8 bytes an entry are kept (one has 4
/// bytes of text at least), then the table.
///
/// Labels are what targets are in a CSV file: text or numbers, finite if numbers; the target is
/// called "label". Throws failure: bad_data with where = "path:line:column" for a label that is
/// missing, an entry that is not index:value, an index below the base, not above the one before it
/// or above `features_max`, a value that is not a finite number or does not fit a float32, and a
/// table larger than the bound; what csv_records throws. std::invalid_argument for another base.
table read_libsvm(const std::string& path, const libsvm_options& options = {});

} // namespace troupe
