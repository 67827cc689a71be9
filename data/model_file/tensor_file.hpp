// An open safetensors file that is read by parts: rows for training (data/rows_file) and checkpoints
// (data/checkpoint). Its header is read, and held against the file's size, when the file is opened; what its
// tensors hold is checked by whoever reads them, chunk by chunk.

#pragma once

#include "data/disk/disk.hpp"
#include "data/model_file/safetensors_header.hpp"

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

/// Opens a file. Throws failure: missing_input, no_permission or io_error; bad_data when it has no size, as
/// a pipe.
std::unique_ptr<disk_reader> open_to_read(const disk& from, const std::string& path);

/// False when the file ends before `out` is full. Throws failure: io_error or no_permission.
bool read_at(const disk_reader& file, const std::string& path, uint64_t place,
             std::span<std::byte> out);

/// Several threads may read at once.
class tensor_file {
public:
  /// `dtypes`: the types that its tensors may have; `hint`: what to do about a damaged file.
  ///
  /// Throws failure(bad_data), naming the path and, where there is one, the tensor: when the file is
  /// compressed, no safetensors file, when tensors leave holes or overlap, and when it is longer or shorter
  /// than they are. Nothing is allocated before it is held against the file's size.
  tensor_file(std::unique_ptr<disk_reader> file, std::string path,
              std::span<const std::string_view> dtypes, std::string hint);

  const std::string& path() const noexcept { return path_; }
  uint64_t size() const { return file_->size(); }

  /// The length of the header and the header, as they stand in the file.
  const std::string& front() const noexcept { return front_; }

  /// A text of the metadata; empty when there is none.
  std::string metadata(const std::string& name) const;

  size_t tensor_count() const noexcept { return tensors_.size(); }
  /// All of them, in the order of their data.
  std::vector<safetensors_entry> tensors() const;
  bool has(const std::string& name) const { return tensors_.contains(name); }

  /// A tensor; refused when there is none, or when it has another type or number of extents. Its offsets
  /// count from the file's first byte.
  const safetensors_entry& tensor(const std::string& name,
                                  std::initializer_list<std::string_view> dtypes,
                                  size_t extents) const;

  /// All bytes of a tensor of type U8.
  std::string text(const std::string& name, size_t extents = 1) const;

  /// False when the file has become shorter since it was opened. Throws as troupe::read_at.
  bool read_at(uint64_t place, std::span<std::byte> out) const {
    return troupe::read_at(*file_, path_, place, out);
  }
  /// Refuses a file that has become shorter.
  void read(uint64_t place, std::span<std::byte> out) const;

  /// Throws failure(bad_data) with the path and the hint.
  [[noreturn]] void refuse(const std::string& reason) const { refuse(reason, hint_); }
  [[noreturn]] void refuse(const std::string& reason, const std::string& hint) const;

private:
  safetensors_header read_header(std::span<const std::string_view> dtypes);

  std::unique_ptr<disk_reader> file_;
  std::string path_;
  std::string hint_;
  std::string front_;
  std::map<std::string, std::string> metadata_;
  std::map<std::string, safetensors_entry> tensors_;
};

} // namespace troupe
