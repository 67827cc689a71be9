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
//       ..   R  the record: everything but the tensors (checkpoint_record.hpp)
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

#include "data/checkpoint/checkpoint_record.hpp"
#include "data/text/checksum.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace troupe {

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
