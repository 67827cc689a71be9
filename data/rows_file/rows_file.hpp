// An open file of rows (rows_header.hpp): its front is read and checked, its chunks can be.
//
//   rows_file file{"mnist.rows.safetensors"};
//   const auto chunk = file.read_chunk(7);

#pragma once

#include "data/rows_file/rows_header.hpp"
#include "data/table/dataset.hpp"
#include "data/table/row_reader.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace troupe {

/// Rows as they lie in the file. Shapes: n rows, F features, T targets.
struct rows_chunk {
  size_t row_count = 0;            ///< n
  std::vector<std::byte> features; ///< n x F, in the file's type
  std::vector<int32_t> labels;     ///< n, or none
  std::vector<float> targets;      ///< n x T, or none
};

class rows_file {
public:
  /// Opens the file and reads its front. Throws failure: missing_input or no_permission when it
  /// cannot be opened, io_error when it cannot be read; bad_data, naming the path, when it is
  /// compressed, no safetensors file, no file of rows, or when what it says of itself does not fit.
  explicit rows_file(const std::string& path);

  const std::string& path() const noexcept { return file_.path(); }
  const rows_header& header() const noexcept { return header_; }

  /// SHA-256 of the file up to its labels or targets, hexadecimal: the name of its content.
  const std::string& fingerprint() const noexcept { return fingerprint_; }

  /// Reads chunk `number` and holds it against its checksums. Thread-safe. Throws failure: bad_data
  /// with the chunk and its first byte when a checksum is wrong, a label is none of the classes,
  /// a number is not finite, or the file has become shorter; io_error when it cannot be read.
  rows_chunk read_chunk(uint64_t number) const;

  /// The same without features: labels or targets alone.
  rows_chunk read_targets(uint64_t number) const;

  /// Writes the features of row `row` of a chunk to `out` (F).
  void copy_features(const rows_chunk& chunk, size_t row, std::span<float> out) const;

private:
  /// A chunk's tensors, in the order of its checksums.
  enum class chunk_part : uint8_t { features, targets };

  /// Reads `part` of chunk `number`, which lies at `place`, and holds it against its checksum.
  void read_part(uint64_t number, chunk_part part, uint64_t place, std::span<std::byte> out) const;
  void read_header();
  /// Of chunk `number`, whose part at `place` is not what it should be.
  [[noreturn]] void refuse_chunk(uint64_t number, const std::string& what, uint64_t place) const;

  tensor_file file_;
  rows_header header_;
  rows_places places_;
  std::string fingerprint_;
};

/// Reads a file of rows (rows_header.hpp) whole, or part by part (row_reader.hpp) for those who take any format:
/// columns are its features and then its targets; a class is told by its name.
class rows_reader : public row_reader {
public:
  /// Opens the file. Throws what rows_file throws.
  explicit rows_reader(const std::string& path);

  [[noreturn]] void fail_at_target(const table_chunk& rows, size_t i, const std::string& reason,
                                   const std::string& hint) const override;

protected:
  bool read_rows(table_chunk& out, size_t rows_max) override;

private:
  void append_row(table_chunk& out);
  void append_target(table_chunk& out, size_t column) const;

  rows_file file_;
  rows_chunk chunk_;
  uint64_t next_chunk_ = 0;
  size_t row_ = 0;              ///< of the chunk
  uint64_t rows_given_ = 0;     ///< of the file
  std::vector<float> features_; ///< of one row
};

// A file of rows (rows_header.hpp) read whole into memory, and its names without rows.

/// Names and shape, without rows.
dataset names_of(const rows_header& header);

/// All rows. Throws failure(bad_data), with both numbers, when they need more memory than
/// `bytes_max` (0: than is available); what rows_file::read_chunk throws.
dataset read_rows(const rows_file& file, uint64_t bytes_max = 0);

} // namespace troupe
