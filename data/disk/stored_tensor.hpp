// Stored tensor: float32 values, wherever they lie. In memory they are shared; in a file they are read
// by ranges, so that who passes a model on needs no memory for the whole of it.

#pragma once

#include "data/disk/disk.hpp"
#include "models/base/buffer.hpp"

#include <atomic>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

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
  std::span<const float> values() const& { return whole().values(); }
  void values() const&& = delete; // they would be gone at once

private:
  struct in_file;

  const_buffer memory_;
  std::shared_ptr<const in_file> file_; ///< null: they are in memory
};

// Scratch tensors: room in files for tensors that are larger than a process would hold in memory, and
// that nobody needs after it. Their files have no name: they are gone with the process, however that
// ends.

/// A file has such a name for a moment, until it has none: or for good, when its process dies in it.
inline constexpr std::string_view scratch_name_start = "scratch-";

/// One of them. Nobody reads while somebody writes; what nobody wrote is anything.
class scratch_tensor : public tensor_reader {
public:
  /// Touches no disk yet.
  scratch_tensor(std::shared_ptr<disk> where, std::string folder, size_t size)
    : disk_(std::move(where)), folder_(std::move(folder)), size_(size) {}

  /// Takes the room now, where the file system can: it cannot be wanting later. Throws what `write`
  /// throws.
  void reserve();

  /// Throws failure(io_error | no_permission | cannot_create) with the folder, and for a full disk the
  /// bytes needed and there; std::out_of_range.
  void write(size_t first, std::span<const float> values);

  size_t size() const noexcept override { return size_; }
  /// Once a write has failed nothing can be read: who copies it elsewhere must not copy a hole.
  void read(size_t first, std::span<float> out) const override;

private:
  void open();
  void require_within(size_t first, size_t count) const;
  template <class Action>
  void told(const Action& action) const;

  std::shared_ptr<disk> disk_;
  std::string folder_;
  size_t size_;
  std::unique_ptr<disk_writer> out_; ///< null before the first use
  std::unique_ptr<disk_reader> in_;
  std::atomic<bool> has_hole_ = false; ///< a write has failed
};

/// Scratch tensors of one size, used again.
class scratch_pool {
public:
  /// Takes room for `reserved` of them. Throws what scratch_tensor throws.
  scratch_pool(std::shared_ptr<disk> where, std::string folder, size_t size, size_t reserved);

  /// One that nobody else has. By one thread; tensors may be let go of on any.
  std::shared_ptr<scratch_tensor> acquire();

private:
  std::shared_ptr<disk> disk_;
  std::string folder_;
  size_t size_;
  std::vector<std::shared_ptr<scratch_tensor>> all_;
};

} // namespace troupe
