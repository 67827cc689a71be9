// A device's queue: commands that it carries out one after the other, and the memory they work on.
//
// Used by one thread at a time, as a workspace is, and its memory ends with the last buffer. `run` returns at once;
// `download` waits for all that was asked for before.

#pragma once

#include "models/base/buffer.hpp"
#include "models/device/device.hpp"
#include "models/device/device_memory.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace troupe {

/// What a kernel is called with: values of the device, a number, or a plain struct.
class kernel_argument {
public:
  kernel_argument(std::span<const float> values) : values_(values), is_memory_(true) {}
  kernel_argument(std::span<float> values) : kernel_argument(std::span<const float>{values}) {}
  template <class T>
  requires(std::is_arithmetic_v<T> || (std::is_class_v<T> && std::is_trivially_copyable_v<T>))
    kernel_argument(const T& value)
    : size_(sizeof(T)) {
    static_assert(sizeof(T) <= sizeof(bytes_));
    std::memcpy(bytes_.data(), &value, sizeof(T));
  }

  bool is_memory() const { return is_memory_; }
  std::span<const float> values() const { return values_; }
  std::span<const std::byte> bytes() const { return std::span{bytes_}.first(size_); }

private:
  std::span<const float> values_;
  bool is_memory_ = false;
  size_t size_ = 0;
  std::array<std::byte, 144> bytes_;
};

class device_queue : public buffer_source, public std::enable_shared_from_this<device_queue> {
public:
  static std::shared_ptr<device_queue> make(std::shared_ptr<device> where);
  ~device_queue() override;

  const device_facts& facts() const;
  /// Rows and columns of a product that a work group computes.
  size_t product_side() const;

  /// Zeros. Throws device_error when there is no room.
  buffer make_buffer(size_t size) override;

  /// A copy that kernels may read which are asked for before the next one is staged.
  std::span<const float> staged(std::span<const float> values);
  /// For what a kernel finds out, until the next such room is wanted; it begins where doubles may lie.
  std::span<float> result_room(size_t size);

  /// Kernel `name` for this many items. Throws device_error.
  void run(const char* name, size_t items, std::initializer_list<kernel_argument> arguments);
  /// The same for `groups` work groups of 16 x 16 along each extent.
  void run_groups(const char* name, std::array<size_t, 3> groups,
                  std::initializer_list<kernel_argument> arguments);

  /// `from` is the processor's, and may change once this returns.
  void upload(std::span<const float> from, std::span<float> to);
  void download(std::span<const float> from, std::span<float> to);

  /// Calls change(values) with a copy for the processor, and takes the copy back.
  template <class Change>
  void on_processor(std::span<float> values, const Change& change) {
    std::vector<float> copy(values.size());
    download(values, copy);
    change(std::span<float>{copy});
    upload(copy, values);
  }
  std::vector<float> copy_of(std::span<const float> values) {
    std::vector<float> result(values.size());
    download(values, result);
    return result;
  }

private:
  explicit device_queue(std::shared_ptr<device> where);

  struct state;
  std::unique_ptr<state> state_;
};

} // namespace troupe
