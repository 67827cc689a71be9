// The rows of a libsvm text, one after the other: what the two readers of libsvm.hpp (which says
// what the format is) have in common.

#pragma once

#include "data/formats/csv/csv_records.hpp"
#include "data/table/lost_digits.hpp"
#include "data/text/number_text.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

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

/// What larger indices ask for no machine of today has: 4 GB for each output of a model.
inline constexpr size_t libsvm_features_max = 1'000'000'000;

struct libsvm_row_options {
  size_t index_base = 1; ///< the index of the first feature: 0 or 1
  size_t features_max = libsvm_features_max;
  size_t line_bytes_max = size_t{16} << 20;
  size_t hash_bits = 0; ///< features are hashed to so many bits (feature_hash.hpp); 0: as they are
  lost_digits* digits = nullptr; ///< is shown the first values, by index; null: nobody asks
};

class libsvm_rows {
public:
  /// Opens the file. Throws std::invalid_argument for another base; what csv_records throws.
  libsvm_rows(const std::string& path, const libsvm_row_options& options);

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
  libsvm_row_options options_;
  csv_records records_;
  csv_record record_; ///< its text ends before the comment
  size_t at_ = 0;     ///< in the record
  uint64_t text_bytes_ = 0;
  bool any_row_ = false;
};

} // namespace troupe
