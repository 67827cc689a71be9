// Reads sparse text as LIBSVM, SVMlight and their data sets write it, plain or gzip, into a table of
// dense or of sparse rows:
//
//   label index:value index:value ...   # a comment
//
// A row names the values that are not zero, by strictly rising index; all others are zero. Blanks
// separate; lines of nothing but a comment do not count; empty lines may only come last.
// Source: C.-C. Chang, C.-J. Lin, "LIBSVM: a library for support vector machines".

#pragma once

#include "data/formats/csv/csv_records.hpp"
#include "data/table/row_reader.hpp"
#include "data/table/table.hpp"
#include "data/text/number_text.hpp"
#include "models/training/row_options.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

// Feature hashing: any number of features in 2^bits columns (Weinberger, Dasgupta, Langford, Smola,
// Attenberg 2009, "Feature hashing for large scale multitask learning").
//
// A feature's hash says its column and its sign, so that features that share a column cancel as often as
// they add up, and products of rows keep their expectation. A function of the feature's number as the
// file counts and of `bits` alone, the same on every machine and in every release.

inline constexpr size_t hash_bits_min = 4;
inline constexpr size_t hash_bits_max = 30;

struct hashed_feature {
  uint32_t column; ///< below 2^bits
  float sign;      ///< 1 or -1
};

/// The finalizer of SplitMix64 (Steele, Lea, Flood 2014): lowest bits the column, the highest the sign.
inline hashed_feature hash_feature(uint64_t number, size_t bits) {
  uint64_t x = number + 0x9e3779b97f4a7c15u;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
  x = (x ^ x >> 27) * 0x94d049bb133111ebu;
  x ^= x >> 31;
  return {static_cast<uint32_t>(x & ((uint64_t{1} << bits) - 1)), x >> 63 ? -1.0f : 1.0f};
}

/// What larger indices ask for no machine of today has: 4 GB for each output of a model.
inline constexpr size_t libsvm_features_max = 1'000'000'000;

/// With so few features rows take little memory in any form, and all that training can do needs no
/// thought of form.
inline constexpr size_t dense_features_always = 256;

/// .. else rows are dense when the values that are there are more than one in so many.
inline constexpr size_t values_an_entry_max = 4;

struct libsvm_options {
  size_t index_base = 1; ///< the index of the first feature: 0 or 1
  size_t features_max = libsvm_features_max;
  size_t line_bytes_max = size_t{16} << 20;
  size_t hash_bits = 0; ///< features are hashed to so many bits (hash_feature); 0: as they are
  row_form form = row_form::by_content;
  /// A few bytes of text can ask for any size of dense table. It may have so many values for each
  /// byte of text, and 4 Mi besides: 64 bytes of memory a byte.
  size_t values_per_byte_max = 16;
  uint64_t table_bytes_max = 0; ///< 0: the memory that is available (memory_room.hpp)
};

struct libsvm_entry {
  uint32_t feature; ///< counted from 0
  float value;
};

/// A row; valid until the next one is read.
struct libsvm_row {
  std::string_view label; ///< trimmed, not empty, UTF-8
  double number = 0;      ///< the label when it is one, finite
  bool is_number = false;
  std::vector<libsvm_entry> entries; ///< by rising feature
  size_t line = 0;                   ///< counted from 1
};

/// The rows of a text, one after the other: what the two readers have in common.
class libsvm_rows {
public:
  /// Opens the file. `digits` is shown the first values, by index; null: nobody asks. Throws std::invalid_argument for
  /// another base; what csv_records throws.
  libsvm_rows(const std::string& path, const libsvm_options& options,
              lost_digits* digits = nullptr);

  /// Reads the next row; false at the end. Throws failure(bad_data) with where =
  /// "path:line:column" for a label that is missing, not UTF-8 or not finite, an entry that is not
  /// index:value, an index below the base, not above the one before it or above `features_max`, a
  /// value that is no finite float32, an empty line that is not at the end, and a file without
  /// rows.
  bool next(libsvm_row& out);

  /// Bytes of text read so far, of comments too.
  uint64_t text_bytes() const noexcept { return text_bytes_; }

  /// Features that hashing leaves; 0 without it.
  size_t hashed_count() const noexcept {
    return options_.hash_bits == 0 ? 0 : size_t{1} << options_.hash_bits;
  }

  /// Throws failure(bad_data) for the last row.
  [[noreturn]] void fail(const std::string& reason, std::string hint) const;

private:
  struct word; ///< of a line, and where it stands in it

  bool next_line();
  word next_word();
  void read_label(const word& label, libsvm_row& out) const;
  void hash(std::vector<libsvm_entry>& entries) const;
  libsvm_entry read_entry(const word& text, uint64_t& least) const;
  uint64_t read_index(const word& text, std::string_view digits, uint64_t least) const;
  float read_value(const word& text, size_t colon) const;
  [[noreturn]] void fail(const word& at, const std::string& reason, std::string hint) const;

  std::string path_;
  libsvm_options options_;
  lost_digits* digits_;
  csv_records records_;
  csv_record record_; ///< its text ends before the comment
  size_t at_ = 0;     ///< in the record
  uint64_t text_bytes_ = 0;
  bool any_row_ = false;
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

/// Reads such a file part by part (row_reader.hpp), for a model that says how many features there
/// are: the file itself tells only at its end.
///
/// Columns are the features, called by their index as the file counts, and behind them the label,
/// which is the target from the start and stays it. Of sparse rows the label is the only column.
class libsvm_reader : public row_reader {
public:
  /// Opens the file. Rows are sparse if that is their form, else dense, of `feature_count` (>= 1) features:
  /// reading throws failure(bad_data) for an index beyond them. Throws what libsvm_rows throws.
  libsvm_reader(const std::string& path, size_t feature_count, const libsvm_options& options = {});

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
