// Where everything stands in a checkpoint's file.
//
//   byte 0   8  "TROUPECP"
//        8   4  format version, 2          all numbers are little-endian
//       12   4  R, bytes of the record
//       16   8  bytes of the file
//       24  16  checksum of the 24 bytes above and the record
//       40  24  zeros
//       64      the tensors, float32: parameters, each slot, best parameters if there are any
//       ..      a checksum of 16 bytes for each chunk of 1 MiB of each tensor (the last may be short)
//       ..   R  the record: everything but the tensors (checkpoint_record)
//       ..  16  checksum of the record's checksum and all chunks' checksums
//       ..   8  "TROUPEND"
//
// The tensors stand where nothing of a run's figures can move them: they are written before those are
// known. Format 1 had the record at byte 40, with zeros at its end that brought the tensors behind it
// to a multiple of 64, and was else the same; it is read, and written no more.
//
// Checksums are XXH3 with 128 bits: made to find damage at the speed of memory. Damage is all there
// is to find, for who can change the folder's files can change the job too. Every bit of the file
// is under a checksum or compared with a constant, so a file that was cut anywhere, or in which any
// bit changed, is not loaded; the chunks say where.

#pragma once

#include "data/checkpoint/checkpoint.hpp"
#include "data/text/checksum.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

// The record of a checkpoint: everything but its tensors, as bytes. Numbers take 8 bytes, lists and
// texts begin with their length, what may be absent with a byte 0 or 1; doubles keep their bits.

/// Which tensors a checkpoint has; they stand in its file in this order: parameters, slots, best
/// parameters.
struct checkpoint_shape {
  uint64_t parameter_count = 0; ///< P: elements of each tensor
  uint64_t slot_count = 0;      ///< S
  bool has_best_parameters = false;

  uint64_t tensor_count() const { return 1 + slot_count + (has_best_parameters ? 1 : 0); }
  friend bool operator==(const checkpoint_shape&, const checkpoint_shape&) = default;
};

/// Throws std::invalid_argument when the tensors of `x` are not all of one size.
checkpoint_shape shape_of(const checkpoint& x);

/// The tensors of `x` are not looked at: it may be without them.
std::vector<std::byte> checkpoint_record(const checkpoint& x, const checkpoint_shape& shape);

struct parsed_record {
  checkpoint head; ///< without tensors
  checkpoint_shape shape;
};

/// Reads a record; fewer than 64 zeros may follow it. `first_byte` is where it stands in the file
/// at `path`, for messages. Allocates no more than some times the bytes there are.
///
/// Throws failure(bad_data).
parsed_record parse_checkpoint_record(std::span<const std::byte> bytes, const std::string& path,
                                      uint64_t first_byte);

/// Bytes of a tensor under one checksum.
inline constexpr size_t checkpoint_chunk_bytes = size_t{1} << 20;

namespace checkpoint_format {

inline constexpr std::string_view start_mark = "TROUPECP";
inline constexpr std::string_view end_mark = "TROUPEND";
inline constexpr uint32_t version = 2;
inline constexpr uint32_t version_with_record_first = 1;
inline constexpr size_t preamble_bytes = 40;
inline constexpr size_t checked_preamble_bytes = 24; ///< those before the checksum
inline constexpr size_t start_bytes = 64;            ///< the preamble, and zeros to here
inline constexpr size_t tail_bytes = sizeof(checksum_bytes) + end_mark.size();
inline constexpr size_t chunk_elements = checkpoint_chunk_bytes / sizeof(float);

uint64_t chunk_count_of_tensor(const checkpoint_shape& shape);
uint64_t table_bytes(const checkpoint_shape& shape);
uint64_t data_bytes(const checkpoint_shape& shape);

/// Bytes of a file with a record of so many bytes.
uint64_t file_bytes(const checkpoint_shape& shape, uint64_t record_bytes);

/// Byte of an element of a tensor, counted from the first tensor's begin.
inline uint64_t place_of(uint64_t parameter_count, uint64_t tensor, uint64_t element) {
  return (tensor * parameter_count + element) * sizeof(float);
}

/// The file's first `start_bytes`.
std::vector<std::byte> start_of(const checkpoint_shape& shape, std::span<const std::byte> record);
/// Everything behind the tensors; `table`: the chunks' checksums.
std::vector<std::byte> end_of(std::span<const std::byte> start, std::span<const std::byte> table,
                              std::span<const std::byte> record);

} // namespace checkpoint_format

} // namespace troupe
