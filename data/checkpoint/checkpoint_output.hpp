// A checkpoint's file while it is written: tensors go to their places by ranges, in any order, as they
// come; whatever is known last is written last. Nothing of a tensor's size is held in memory: the file's
// checksums are of what is read back, a chunk at a time, once all is there. So that they bless nothing
// that was damaged in between, each range is remembered by a checksum of what was given.
//
//   write, write, .. --all elements of parameters and slots--> finish --> whole, not synced

#pragma once

#include "data/checkpoint/checkpoint.hpp"
#include "data/checkpoint/checkpoint_layout.hpp"
#include "data/disk/disk.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace troupe {

/// Shapes: P parameters, S slots.
class checkpoint_output {
public:
  /// Makes the file. Throws disk_error.
  checkpoint_output(disk& where, const std::string& path, uint64_t parameter_count);

  /// Elements [first, + values) of tensor `part`: 0 the parameters, then the slots. Each element once.
  /// Throws disk_error; std::out_of_range.
  void write(uint64_t part, uint64_t first, std::span<const float> values);

  /// All else: `x` has its best parameters, if there are any, and S slots; the tensors that were
  /// written are not looked at. `texts`: of `x`. Throws disk_error, also when the file has other bytes than were
  /// written; what reading the best parameters throws; std::logic_error when elements are missing, or
  /// came twice; std::invalid_argument when the job's name is no name of a job.
  void finish(const checkpoint& x, const checkpoint_texts& texts);
  void finish(const checkpoint& x) { finish(x, texts_of(x)); }

  /// Throws disk_error.
  void sync() { out_->sync(); }

  uint64_t parameter_count() const noexcept { return parameter_count_; }

private:
  /// Elements of all tensors, counted from the first one's first.
  struct range {
    uint64_t begin = 0;
    uint64_t end = 0;
    uint64_t checksum = 0;
  };
  void write_best(const checkpoint& x);
  void require_all(uint64_t element_count);
  std::string read_table(uint64_t tensor_count) const;

  disk& disk_;
  std::string path_;
  uint64_t parameter_count_;
  std::vector<range> written_;
  std::unique_ptr<disk_writer> out_;
};

/// Bytes of the file that `x` makes: with S slots, and best parameters if it has any. `texts`: of `x`.
uint64_t checkpoint_file_bytes(const checkpoint& x, uint64_t parameter_count,
                               const checkpoint_texts& texts);

/// Writes the whole of `x`: its file is not synced. Throws std::invalid_argument when the tensors are
/// not all of one size; what `checkpoint_output` throws.
void write_checkpoint(disk& where, const std::string& path, const checkpoint& x);

} // namespace troupe
