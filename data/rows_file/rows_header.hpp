// A file of rows for training: safetensors with a few conventions, so that any library of that
// format reads it, and so that rows can be read from the middle of it and be known to be whole.
//
//   chunk_checksums  U64 [M, 2]   XXH3 (64 bits) of a chunk's features, and of its targets
//   column_means     F64 [F]      of all rows
//   column_squares   F64 [F]      sums of squared differences from the means
//   labels           I32 [N]      class numbers; or
//   targets          F32 [N, T]   numbers
//   features         F32 or U8 [N, F]; bytes are taken for the numbers 0 to 255
//
// A chunk is `chunk_rows` rows, the last one what is left. The metadata name the format
// ("troupe-rows-1"), chunk_rows, the names of features, targets and classes (JSON arrays), and what
// training wants to know of all rows without reading them: class_rows, or target_minimum and
// target_maximum. Tensors lie packed, in the order above: numbers of 8 bytes first, so that all are
// aligned.
//
// The name of the content is the SHA-256 of the file up to its labels or targets: checksums stand for
// the rows, so it takes no time however many there are. Nothing in a file is believed before it was
// checked: the header against the file's size when it is opened, rows against their checksums when
// they are read.

#pragma once

#include "data/model_file/tensor_file.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

/// How a feature lies in the file.
enum class feature_type : uint8_t { f32, u8 };

inline constexpr std::string_view rows_format_name = "troupe-rows-1";

/// More columns are refused: what other binary tables may have.
inline constexpr uint64_t rows_columns_max = uint64_t{1} << 24;

/// Row numbers have 32 bits.
inline constexpr uint64_t rows_count_max = 0xffffffff;

/// What a file's front says. Shapes: N rows, F features, T targets, C classes, M chunks.
struct rows_header {
  uint64_t row_count = 0;     ///< N, 1 .. rows_count_max
  uint64_t feature_count = 0; ///< F >= 1
  feature_type type = feature_type::f32;
  uint64_t chunk_rows = 1;                ///< rows of each chunk but the last
  std::vector<std::string> feature_names; ///< F
  std::vector<std::string> target_names;  ///< T; for a classification the label's one name
  std::vector<std::string> classes;       ///< C; empty: the targets are numbers
  std::vector<uint64_t> class_rows;       ///< C: rows of each class
  double target_minimum = 0;              ///< numbers: the least of all
  double target_maximum = 0;
  std::vector<double> column_means;               ///< F
  std::vector<double> column_squares;             ///< F
  std::vector<std::array<uint64_t, 2>> checksums; ///< M

  bool is_classification() const { return !classes.empty(); }
  uint64_t target_count() const { return is_classification() ? 0 : target_names.size(); } ///< T
  uint64_t chunk_count() const { return (row_count + chunk_rows - 1) / chunk_rows; }      ///< M
  uint64_t feature_bytes() const { ///< of a row
    return feature_count * (type == feature_type::u8 ? 1 : sizeof(float));
  }
  uint64_t target_bytes() const { ///< of a row: one label, or T numbers
    return is_classification() ? sizeof(int32_t) : target_count() * sizeof(float);
  }

  friend bool operator==(const rows_header&, const rows_header&) = default;
};

/// Where in the file the parts of a header's rows begin.
struct rows_places {
  uint64_t checksums = 0;
  uint64_t means = 0;
  uint64_t squares = 0;
  uint64_t targets = 0; ///< labels or targets; here ends what the fingerprint is of
  uint64_t features = 0;
};

/// The file's first bytes, up to its checksums, and where the rest goes. Throws
/// std::invalid_argument for names that are not UTF-8.
struct rows_preamble {
  std::string text;
  rows_places places;
};
rows_preamble preamble_of(const rows_header& header);

/// SHA-256 of a file's `front` from behind its length on, and of the header's checksums and statistics, hexadecimal.
std::string fingerprint_of(const rows_header& header, std::string_view front);

/// Rows of a chunk of about 1 MiB: a disk reads it as fast as more at once, and a window of the
/// default size has 64 of them.
uint64_t default_chunk_rows(uint64_t row_count, uint64_t feature_bytes);

/// Whether a file that begins with `start` may be a safetensors file.
bool looks_like_safetensors(std::string_view start);

/// The rows that a header tells of, without checksums and statistics, and where all lies.
struct parsed_rows {
  rows_header header;
  rows_places places;
};

/// Throws failure(bad_data), naming the path and, where there is one, the tensor, when the header is
/// not that of a file of rows, and when shapes contradict each other.
parsed_rows parse_rows_header(const tensor_file& file);

} // namespace troupe
