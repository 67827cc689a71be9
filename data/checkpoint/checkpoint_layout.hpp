// What stands in a checkpoint's file: safetensors, so that any library of that format reads it.
//
//   parameters        F32 [P]
//   optimizer_slots   F32 [S, P]     where there are slots
//   best_parameters   F32 [P]        where they are kept
//   chunk_checksums   U8 [T, M, 16]  of each chunk of 1 MiB (the last may be short) of these T tensors of P
//   record            U8 [R]         JSON: everything else but the history
//   history.csv       U8 [H]         as the run's own history.csv (data/records/history_file.hpp)
//   checksum          U8 [16]        of the file but for the tensors of P
//
// The metadata name the format and the job (`format`, `job_sha256`). Tensors lie packed, in the order above.
// Those of P begin at byte 2048: nothing of a run's figures can move them, and so they are written before
// these are known.
//
// Checksums are XXH3 with 128 bits: made to find damage at the speed of memory. Damage is all there
// is to find, for who can change the folder's files can change the job too. Every bit of the file
// is under a checksum, so a file that was cut anywhere, or in which any bit changed, is not loaded; the
// chunks say where.

#pragma once

#include "data/checkpoint/checkpoint.hpp"
#include "data/text/checksum.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace troupe {

/// Which tensors of P a checkpoint has.
struct checkpoint_shape {
  uint64_t parameter_count = 0; ///< P: elements of each tensor
  uint64_t slot_count = 0;      ///< S
  bool has_best_parameters = false;

  uint64_t tensor_count() const { return 1 + slot_count + (has_best_parameters ? 1 : 0); } ///< T
  friend bool operator==(const checkpoint_shape&, const checkpoint_shape&) = default;
};

/// Throws std::invalid_argument when the tensors of `x` are not all of one size.
checkpoint_shape shape_of(const checkpoint& x);

/// Everything but the tensors, as it stands in the file.
struct checkpoint_texts {
  std::string job_sha256;
  std::string record;  ///< JSON. Doubles that are not finite are texts: their bits, hexadecimal
  std::string history; ///< CSV
};

/// The tensors of `x` are not looked at: it may be without them.
checkpoint_texts texts_of(const checkpoint& x);

/// The checkpoint without tensors. Allocates no more than some times the bytes there are. `path`: for
/// messages. Throws failure(bad_data).
checkpoint head_of(const checkpoint_texts& texts, const std::string& path);

/// Bytes of a tensor under one checksum.
inline constexpr size_t checkpoint_chunk_bytes = size_t{1} << 20;

namespace checkpoint_format {

inline constexpr std::string_view format_name = "troupe-checkpoint-3";
inline constexpr size_t start_bytes = 2048; ///< of the header
inline constexpr size_t chunk_elements = checkpoint_chunk_bytes / sizeof(float);

/// M.
inline uint64_t chunk_count_of_tensor(const checkpoint_shape& shape) {
  return (shape.parameter_count + chunk_elements - 1) / chunk_elements;
}

/// Byte of an element of a tensor of P, counted from the file's first.
inline uint64_t place_of(uint64_t parameter_count, uint64_t tensor, uint64_t element) {
  return start_bytes + (tensor * parameter_count + element) * sizeof(float);
}

/// Bytes of the file.
uint64_t file_bytes(const checkpoint_shape& shape, const checkpoint_texts& texts);

/// The file's first bytes, its header: `start_bytes`, unless the job's name is too long.
std::string front_of(const checkpoint_shape& shape, const checkpoint_texts& texts);

/// Everything behind the tensors of P; `table`: the chunks' checksums.
std::string end_of(std::string_view front, std::string_view table, const checkpoint_texts& texts);

} // namespace checkpoint_format

} // namespace troupe
