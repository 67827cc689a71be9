// Buffers of float32: 64-byte aligned, reference-counted, recycled.
//
// Parameters and gradients live in these. A `buffer` may be written, a `const_buffer` only read;
// both are cheap to copy and share one storage. The law of sharing: a span of a buffer is immutable
// from the moment another actor knows it. Nothing enforces it but the two types, so only the
// producer of a buffer may hold it as `buffer`.
//
// A storage that came from a `buffer_pool` goes back there when its last handle lets go; in a
// steady state a training step therefore allocates nothing.

#pragma once

#include "models/base/number_format.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

namespace troupe {

/// Alignment of every buffer in bytes: a cache line, and the widest vector register.
inline constexpr size_t buffer_alignment_bytes = 64;

class buffer_pool;

namespace detail {

struct pool_core;

struct buffer_storage {
  std::atomic<size_t> reference_count{0};
  size_t size = 0;
  float* data = nullptr;
  std::shared_ptr<pool_core> home;    ///< where to return to; null: freed
  std::shared_ptr<const void> lender; ///< whose memory it is; null: the storage's own

  static buffer_storage* make(size_t size, std::shared_ptr<pool_core> home);
  static void destroy(buffer_storage* storage) noexcept;
  static void release(buffer_storage* storage) noexcept;
};

/// What both handles share: an intrusive pointer.
class buffer_handle {
public:
  buffer_handle() = default;
  buffer_handle(const buffer_handle& other) noexcept : storage_(other.storage_) { acquire(); }
  buffer_handle(buffer_handle&& other) noexcept
    : storage_(std::exchange(other.storage_, nullptr)) {}
  buffer_handle& operator=(buffer_handle other) noexcept {
    std::swap(storage_, other.storage_);
    return *this;
  }
  ~buffer_handle() {
    if (storage_)
      buffer_storage::release(storage_);
  }

  size_t size() const noexcept { return storage_ ? storage_->size : 0; }
  explicit operator bool() const noexcept { return storage_ != nullptr; }

  /// True when both name the same memory.
  bool same_storage(const buffer_handle& other) const noexcept {
    return storage_ == other.storage_;
  }

protected:
  explicit buffer_handle(buffer_storage* storage) noexcept : storage_(storage) { acquire(); }
  float* data() const noexcept { return storage_ ? storage_->data : nullptr; }

private:
  void acquire() noexcept {
    if (storage_)
      storage_->reference_count.fetch_add(1, std::memory_order_relaxed);
  }

  buffer_storage* storage_ = nullptr;
};

} // namespace detail

/// A buffer its holder may write.
class buffer : public detail::buffer_handle {
public:
  buffer() = default;

  /// A buffer of `size` zeros that belongs to no pool.
  explicit buffer(size_t size);

  /// Values in another owner's memory: `lender` keeps them, and goes with the last handle, on any thread.
  static buffer lent(std::span<float> values, std::shared_ptr<const void> lender);

  std::span<float> values() const noexcept { return {data(), size()}; }

private:
  friend class buffer_pool;
  explicit buffer(detail::buffer_storage* storage) noexcept : buffer_handle(storage) {}
};

/// A buffer its holder may only read.
class const_buffer : public detail::buffer_handle {
public:
  const_buffer() = default;
  const_buffer(const buffer& writable) noexcept : buffer_handle(writable) {}
  const_buffer(buffer&& writable) noexcept : buffer_handle(std::move(writable)) {}

  /// Values in another owner's memory, aligned as a buffer's: `lender` keeps them, and goes with the
  /// last handle, on any thread.
  static const_buffer lent(std::span<const float> values, std::shared_ptr<const void> lender);

  std::span<const float> values() const noexcept { return {data(), size()}; }

private:
  explicit const_buffer(detail::buffer_storage* storage) noexcept : buffer_handle(storage) {}
};

/// Makes buffers of one size and takes them back. Thread-safe; buffers may outlive the pool.
class buffer_pool {
public:
  /// Buffers of `size` floats each.
  explicit buffer_pool(size_t size);
  ~buffer_pool();
  buffer_pool(const buffer_pool&) = delete;
  buffer_pool& operator=(const buffer_pool&) = delete;

  /// A buffer without another holder; its contents are those of its last use.
  buffer acquire();

  /// Buffers made so far: constant once training is in its steady state.
  size_t made_count() const;

private:
  std::shared_ptr<detail::pool_core> core_;
};

/// Memory of another kind than the processor's (models/device/).
class buffer_source {
public:
  virtual ~buffer_source() = default;
  virtual buffer make_buffer(size_t size) = 0;
};

/// Scratch memory of one thread, or of one batch that is under way: numbered slots that only ever grow,
/// so that after the first step nothing is allocated.
class workspace {
public:
  workspace() = default;
  explicit workspace(std::shared_ptr<buffer_source> source) : source_(std::move(source)) {}

  /// Slot `index` with room for `size` floats; its contents are those of its last use.
  std::span<float> slot(size_t index, size_t size) {
    if (slots_.size() <= index)
      slots_.resize(index + 1);
    if (slots_[index].size() < size)
      slots_[index] = source_ ? source_->make_buffer(size) : buffer{size};
    return slots_[index].values().first(size);
  }

  size_t byte_count() const {
    size_t result = 0;
    for (const auto& slot : slots_)
      result += slot.size() * sizeof(float);
    return result;
  }

  /// Memory of the processor beside it; itself, unless it is a device's.
  workspace& of_processor() {
    if (!source_)
      return *this;
    if (!beside_)
      beside_ = std::make_shared<workspace>();
    return *beside_;
  }

  /// What a model keeps with this memory for the next call (models/device/device_place.hpp).
  std::shared_ptr<void>& kept_by_model() { return kept_; }
  /// A caller's number for the parameters that its next calls read: those of one number that lie in one place are the
  /// same, so that a device gets them once. 0: nothing is known of them.
  void set_version(uint64_t number) { version_ = number; }
  uint64_t version() const { return version_; }

private:
  std::vector<buffer> slots_;
  std::shared_ptr<buffer_source> source_; ///< null: the processor
  std::shared_ptr<workspace> beside_;
  std::shared_ptr<void> kept_;
  uint64_t version_ = 0;
};

// Float view: a span of float32 values together with the buffer it lies in, so that the values live
// as long as a view of them.
//
// Values that came over a wire know the checksum they were sent with. Their user asks `intact`
// first; only that computes a checksum, and never for values of this process.

/// A number that follows from the values' bits: the same function at both ends of a wire.
using float_checksum = uint64_t (*)(std::span<const float>);

class float_view {
public:
  float_view() = default;

  /// The values [offset, offset + size) of `storage`; throws std::invalid_argument outside it.
  float_view(const_buffer storage, size_t offset, size_t size)
    : storage_(std::move(storage)), offset_(offset), size_(size) {
    if (offset > storage_.size() || size > storage_.size() - offset)
      throw std::invalid_argument("float_view: a span that leaves its buffer");
  }

  /// The first `size` values of `storage`, received with a checksum that `compute` has to give
  /// again.
  float_view(const_buffer storage, size_t size, uint64_t checksum, float_checksum compute)
    : float_view(std::move(storage), 0, size) {
    compute_ = compute;
    received_checksum_ = checksum;
  }

  /// The same values, all of this format: on a wire they need no more bytes than it has.
  float_view with_format(number_format format) && {
    format_ = format;
    return std::move(*this);
  }
  number_format format() const { return format_; }

  std::span<const float> values() const { return storage_.values().subspan(offset_, size_); }
  size_t size() const { return size_; }

  /// The memory behind: the same for all spans of one version in one process.
  const const_buffer& storage() const { return storage_; }
  size_t offset() const { return offset_; }

  /// The values [first, first + count) of these, as values of this process: ask `intact` before.
  float_view part(size_t first, size_t count) const { return {storage_, offset_ + first, count}; }

  /// False when the values came over a wire and do not have the checksum they were sent with.
  bool intact() const { return compute_ == nullptr || compute_(values()) == received_checksum_; }

  /// Nothing for values of this process.
  std::optional<uint64_t> received_checksum() const {
    return compute_ == nullptr ? std::nullopt : std::optional{received_checksum_};
  }

  /// Bit for bit.
  friend bool operator==(const float_view& a, const float_view& b) {
    const auto x = a.values();
    const auto y = b.values();
    return x.size() == y.size() &&
           (x.empty() || std::memcmp(x.data(), y.data(), x.size_bytes()) == 0);
  }

private:
  const_buffer storage_;
  size_t offset_ = 0;
  size_t size_ = 0;
  number_format format_ = number_format::float32;
  float_checksum compute_ = nullptr; ///< null: values of this process
  uint64_t received_checksum_ = 0;
};

// Room for large tables and buffers. Touching fresh memory in pages of 4 KiB costs more than
// reading a file into it. Looking pages up costs a share of every sweep through a model. The kernel
// gives pages of 2 MiB on request.

inline constexpr size_t large_page_bytes = size_t{2} << 20;

/// Asks for large pages for memory that is about to be filled. Advice only: it may be ignored, and
/// nothing but speed depends on it.
void advise_large_pages(void* memory, size_t bytes) noexcept;

/// Makes room for `count` elements, in large pages if they are many.
template <class T>
void reserve_large(std::vector<T>& out, size_t count) {
  if (count <= out.capacity())
    return;
  out.reserve(count);
  advise_large_pages(out.data(), out.capacity() * sizeof(T));
}

} // namespace troupe
