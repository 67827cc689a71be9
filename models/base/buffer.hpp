// Buffers of float32: 64-byte aligned, reference-counted, recycled.
//
// Parameters and gradients live in these. A `buffer` may be written, a `const_buffer` only read;
// both are cheap to copy and share one storage. The law of sharing: a span of a buffer is immutable
// from the moment it is announced to anybody else. Nothing enforces it but the two types, so only
// the producer of a buffer may hold it as `buffer`.
//
// A storage that came from a `buffer_pool` goes back there when its last handle lets go; in a
// steady state a training step therefore allocates nothing.

#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <span>
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

  /// Values in memory of somebody else, aligned as a buffer's: `lender` keeps them, and is let go of
  /// with the last handle, on whichever thread.
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

  /// A buffer nobody else holds; its contents are those of its last use.
  buffer acquire();

  /// Buffers made so far: constant once training is in its steady state.
  size_t made_count() const;

private:
  std::shared_ptr<detail::pool_core> core_;
};

} // namespace troupe
