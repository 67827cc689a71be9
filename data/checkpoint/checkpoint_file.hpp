// The file of a checkpoint: found intact, or refused with the byte that is wrong.
//
//   byte 0   8  "TROUPECP"
//        8   4  format version, 1          all numbers are little-endian
//       12   4  R, bytes of the record
//       16   8  bytes of the file
//       24  16  checksum of the 24 bytes above and the record
//       40   R  the record: everything but the tensors (checkpoint_record.hpp); zeros at its end
//               bring the tensors to a multiple of 64
//       ..      the tensors, float32: parameters, each slot, best parameters if there are any
//       ..      a checksum of 16 bytes for each chunk of 1 MiB of each tensor (the last may be short)
//       ..  16  checksum of the record's checksum and all of these
//       ..   8  "TROUPEND"
//
// Checksums are XXH3 with 128 bits: made to find damage at the speed of memory. Damage is all there
// is to find, for who can change the folder's files can change the job too. Every bit of the file
// is under a checksum or compared with a constant, so a file that was cut anywhere, or in which any
// bit changed, is not loaded; the chunks say where.

#pragma once

#include "troupe/data/checkpoint/checkpoint.hpp"
#include "troupe/data/disk/disk.hpp"

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace troupe {

/// Bytes of a tensor under one checksum.
inline constexpr size_t checkpoint_chunk_bytes = size_t{1} << 20;

/// Bytes of the file that `x` makes.
uint64_t checkpoint_file_bytes(const checkpoint& x);

/// Writes the whole file, straight from the tensors: no second copy is made. Syncs nothing.
///
/// Throws std::invalid_argument when the tensors are not all of one size; disk_error.
void write_checkpoint(disk_writer& out, const checkpoint& x);

/// An open checkpoint. Whole, or in ranges: a shard reads its span of each tensor and no more than
/// the chunks around it.
///
/// Every member throws failure(bad_data) with the path and the byte when the file is damaged, and
/// failure(io_error | missing_input | no_permission) when it cannot be read.
class checkpoint_file {
public:
  /// Opens the file and checks everything but the tensors. Nothing is allocated before it is held
  /// against the file's size.
  checkpoint_file(const disk& from, std::string path);
  ~checkpoint_file();
  checkpoint_file(checkpoint_file&&) noexcept;
  checkpoint_file& operator=(checkpoint_file&&) noexcept;

  /// Everything but the tensors, which are empty here.
  const checkpoint& head() const noexcept;

  size_t parameter_count() const noexcept; ///< P
  size_t slot_count() const noexcept;      ///< S
  bool has_best_parameters() const noexcept;

  /// Elements [first, first + out.size()) of a tensor, checked. Throws std::out_of_range beyond it.
  void read_parameters(size_t first, std::span<float> out) const;
  void read_slot(size_t slot, size_t first, std::span<float> out) const;
  void read_best_parameters(size_t first, std::span<float> out) const;

  /// All of it, checked.
  checkpoint read() const;

private:
  struct state;
  std::unique_ptr<state> state_;
};

} // namespace troupe
