// Stored tensor: float32 values, wherever they lie. In memory they are shared; in a file they are read
// by ranges, so that who passes a model on needs no memory for the whole of it.

#pragma once

#include "models/base/buffer.hpp"

#include <cstddef>
#include <memory>
#include <span>

namespace troupe {

/// Values that lie in a file. Every member may be called by several threads at once.
class tensor_reader {
public:
  virtual ~tensor_reader() = default;

  virtual size_t size() const noexcept = 0;

  /// Values [first, first + out.size()). Throws std::out_of_range beyond them; failure when the file
  /// cannot be read, or is damaged as far as it can know.
  virtual void read(size_t first, std::span<float> out) const = 0;
};

class stored_tensor {
public:
  stored_tensor() = default;
  stored_tensor(const_buffer memory) : memory_(std::move(memory)) {}
  stored_tensor(const buffer& memory) : memory_(memory) {}
  explicit stored_tensor(std::shared_ptr<const tensor_reader> file);

  size_t size() const noexcept;
  explicit operator bool() const noexcept { return file_ || memory_; }
  bool is_in_memory() const noexcept { return !file_; }

  /// Values [first, first + out.size()), and no more of a file than they need. Throws what
  /// tensor_reader throws.
  void read(size_t first, std::span<float> out) const;

  /// All values, in memory: those of a file are read with the first call, and stay. Throws likewise.
  const const_buffer& whole() const;
  std::span<const float> values() const { return whole().values(); }

private:
  struct in_file;

  const_buffer memory_;
  std::shared_ptr<const in_file> file_; ///< null: they are in memory
};

} // namespace troupe
