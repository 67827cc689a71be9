// An open checkpoint's file (checkpoint_layout.hpp says what stands where): found intact, or refused with
// the tensor or the bytes that are wrong.

#pragma once

#include "data/checkpoint/checkpoint.hpp"
#include "data/disk/disk.hpp"

#include <memory>
#include <string>

namespace troupe {

/// Its tensors are read whole, or in ranges: no more than the chunks around these. Copies share the
/// open file, which stays readable when it loses its name; several threads may read at once.
///
/// Every member throws failure(bad_data) with the path and the tensor or bytes when the file is damaged, and
/// failure(io_error | missing_input | no_permission) when it cannot be read.
class checkpoint_file {
public:
  /// Opens the file and checks everything but the tensors. Nothing is allocated before it is held
  /// against the file's size.
  checkpoint_file(const disk& from, const std::string& path);

  /// Everything but the tensors, which are empty here.
  const checkpoint& head() const noexcept;

  size_t parameter_count() const noexcept; ///< P
  size_t slot_count() const noexcept;      ///< S
  bool has_best_parameters() const noexcept;

  /// All of it. The tensors stay in the file: a range is checked when it is read.
  checkpoint contents() const;

  /// Reads and checks every tensor, a chunk at a time.
  void verify() const;

  /// All of it, checked and in memory.
  checkpoint read() const;

private:
  struct state;
  std::shared_ptr<const state> state_;
};

/// Whose checkpoint a file is. Throws as checkpoint_file does for a file that is not intact.
std::string job_of_checkpoint(const disk& from, const std::string& path);

} // namespace troupe
