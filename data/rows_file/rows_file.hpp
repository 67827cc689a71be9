// An open file of rows (rows_header.hpp): its front is read and checked, its chunks can be.
//
//   rows_file file{"mnist.rows.safetensors"};
//   const auto chunk = file.read_chunk(7);

#pragma once

#include "data/rows_file/row_chunks.hpp"
#include "data/table/row_reader.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace troupe {

class rows_file : public row_chunks {
public:
  /// Opens the file and reads its front. Throws failure: missing_input or no_permission when it
  /// cannot be opened, io_error when it cannot be read; bad_data, naming the path, when it is
  /// compressed, no safetensors file, no file of rows, or when what it says of itself does not fit.
  explicit rows_file(const std::string& path);

  const std::string& name() const noexcept override { return file_.path(); }
  const rows_header& header() const noexcept override { return header_; }
  /// Of the file up to its labels or targets.
  const std::string& fingerprint() const noexcept override { return fingerprint_; }

  /// Throws failure: bad_data with the chunk and its first byte when a checksum is wrong, a label is none of the classes,
  /// a number is not finite, or the file has become shorter; io_error when it cannot be read.
  rows_chunk read_chunk(uint64_t number) const override;
  rows_chunk read_targets(uint64_t number) const override;

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

} // namespace troupe
