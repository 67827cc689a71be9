// Reads sparse text as LIBSVM, SVMlight and their data sets write it, plain or gzip, into a table of
// dense or of sparse rows:
//
//   label index:value index:value ...   # a comment
//
// A row names the values that are not zero, by strictly rising index; all others are zero. Blanks
// separate; lines of nothing but a comment do not count; empty lines may only come last.
// Source: C.-C. Chang, C.-J. Lin, "LIBSVM: a library for support vector machines".

#pragma once

#include "data/formats/libsvm/libsvm_rows.hpp"
#include "data/table/row_reader.hpp"
#include "data/table/table.hpp"

#include <cstddef>
#include <cstdint>
#include <string>

namespace troupe {

/// What rows become. By content they become dense where there are few features, at most
/// `dense_features_always`, or where at least a quarter of the values are there, and if the table is not
/// too large to be made so: a function of the file alone.
enum class row_form : uint8_t { by_content, dense, sparse };

/// With so few features rows take little memory in any form, and all that training can do needs no
/// thought of form.
inline constexpr size_t dense_features_always = 256;

/// .. else rows are dense when the values that are there are more than one in so many.
inline constexpr size_t values_an_entry_max = 4;

struct libsvm_options {
  size_t index_base = 1; ///< the index of the first feature: 0 or 1
  size_t features_max = libsvm_features_max;
  size_t line_bytes_max = size_t{16} << 20;
  size_t hash_bits = 0; ///< features are hashed to so many bits (feature_hash.hpp); 0: as they are
  row_form form = row_form::by_content;
  /// A few bytes of text can ask for any size of dense table. It may have so many values for each
  /// byte of text, and 4 Mi besides: 64 bytes of memory a byte.
  size_t values_per_byte_max = 16;
  uint64_t table_bytes_max = 0; ///< 0: the memory that is available (memory_room.hpp)
};

/// Reads the file at `path`. There are as many features as the largest index asks for, or as hashing
/// leaves. In dense rows each is called by its index as the file counts; in sparse rows they have no
/// names. While reading, 8 bytes an entry are kept (one has 4 bytes of text at least), then the table.
///
/// Labels are what targets are in a CSV file: text or numbers, finite if numbers; the target is
/// called "label". Throws failure: bad_data with where = "path:line:column" for a label that is
/// missing, an entry that is not index:value, an index below the base, not above the one before it
/// or above `features_max`, a value that is not a finite number or does not fit a float32, and a
/// table larger than the bound; what csv_records throws. std::invalid_argument for another base.
table read_libsvm(const std::string& path, const libsvm_options& options = {});

/// What the model of a `libsvm_reader` is made for.
struct libsvm_form {
  bool sparse = false;
  size_t hash_bits = 0; ///< 0: features are as they are
};

/// Reads such a file part by part (row_reader.hpp), for a model that says how many features there
/// are: the file itself tells only at its end.
///
/// Columns are the features, called by their index as the file counts, and behind them the label,
/// which is the target from the start and stays it. Of sparse rows the label is the only column.
class libsvm_reader : public row_reader {
public:
  /// Opens the file. `index_base` is the index of the first of `feature_count` (>= 1) features, 0
  /// or 1. Throws what libsvm_rows throws.
  libsvm_reader(const std::string& path, size_t index_base, size_t feature_count,
                const libsvm_form& form = {});

  /// Throws failure(bad_data) for an index beyond the features; what libsvm_rows throws.
  [[noreturn]] void fail_at_target(const table_chunk& rows, size_t i, const std::string& reason,
                                   const std::string& hint) const override;

protected:
  bool read_rows(table_chunk& out, size_t rows_max) override;

private:
  void keep(table_chunk& out) const;

  libsvm_rows rows_;
  libsvm_row row_;
  size_t feature_count_;
  bool sparse_;
};

} // namespace troupe
