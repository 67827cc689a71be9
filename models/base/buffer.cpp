#include "models/base/buffer.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <limits>
#include <new>

namespace troupe {

namespace detail {

namespace {

// From here on a buffer begins at a large page of its own: a model's parameters and gradients are
// read and written once a step, and in pages of 4 KiB the look-ups alone cost about 3 % of it.
constexpr size_t large_buffer_bytes = large_page_bytes;

std::align_val_t alignment_of(size_t bytes) {
  return std::align_val_t{bytes < large_buffer_bytes ? buffer_alignment_bytes : large_page_bytes};
}

size_t bytes_of(size_t size) {
  if (size > std::numeric_limits<size_t>::max() / sizeof(float))
    throw std::bad_array_new_length();
  return std::max<size_t>(size, 1) * sizeof(float);
}

} // namespace

struct pool_core {
  mutable std::mutex mutex;
  size_t size = 0;
  size_t made_count = 0;
  bool closed = false; ///< the pool is gone: returning storages are freed
  std::vector<buffer_storage*> idle;
};

buffer_storage* buffer_storage::make(size_t size, std::shared_ptr<pool_core> home) {
  auto storage = std::make_unique<buffer_storage>();
  storage->size = size;
  storage->home = std::move(home);
  const auto bytes = bytes_of(size);
  storage->data = static_cast<float*>(::operator new(bytes, alignment_of(bytes)));
  advise_large_pages(storage->data, bytes);
  return storage.release();
}

void buffer_storage::destroy(buffer_storage* storage) noexcept {
  if (!storage->lender)
    ::operator delete(storage->data, alignment_of(bytes_of(storage->size)));
  delete storage;
}

void buffer_storage::release(buffer_storage* storage) noexcept {
  if (storage->reference_count.fetch_sub(1, std::memory_order_acq_rel) != 1)
    return;
  if (storage->home) {
    // The core must outlive this call even if freeing the storage drops the last reference to it.
    auto home = storage->home;
    std::lock_guard guard{home->mutex};
    if (!home->closed) {
      home->idle.push_back(storage); // within the capacity reserved when it was made
      return;
    }
  }
  destroy(storage);
}

} // namespace detail

buffer::buffer(size_t size) : buffer_handle(detail::buffer_storage::make(size, nullptr)) {
  std::ranges::fill(values(), 0.0f);
}

const_buffer const_buffer::lent(std::span<const float> values, std::shared_ptr<const void> lender) {
  // Read only, as this handle.
  return buffer::lent({const_cast<float*>(values.data()), values.size()}, std::move(lender));
}

buffer buffer::lent(std::span<float> values, std::shared_ptr<const void> lender) {
  auto storage = std::make_unique<detail::buffer_storage>();
  storage->size = values.size();
  storage->data = values.data();
  storage->lender = std::move(lender);
  return buffer{storage.release()};
}

buffer_pool::buffer_pool(size_t size) : core_(std::make_shared<detail::pool_core>()) {
  core_->size = size;
}

buffer_pool::~buffer_pool() {
  std::vector<detail::buffer_storage*> idle;
  {
    std::lock_guard guard{core_->mutex};
    core_->closed = true;
    idle.swap(core_->idle);
  }
  for (auto* storage : idle)
    detail::buffer_storage::destroy(storage);
}

buffer buffer_pool::acquire() {
  std::lock_guard guard{core_->mutex};
  if (core_->idle.empty()) {
    core_->idle.reserve(core_->made_count + 1);
    auto* storage = detail::buffer_storage::make(core_->size, core_);
    ++core_->made_count;
    return buffer{storage};
  }
  auto* storage = core_->idle.back();
  core_->idle.pop_back();
  return buffer{storage};
}

size_t buffer_pool::made_count() const {
  std::lock_guard guard{core_->mutex};
  return core_->made_count;
}

namespace {

constexpr uintptr_t page_bytes = large_page_bytes;

} // namespace

void advise_large_pages(void* memory, size_t bytes) noexcept {
#ifdef MADV_HUGEPAGE
  // Whole pages within the block: what lies beside it belongs to others.
  const auto begin = reinterpret_cast<uintptr_t>(memory);
  const auto first = (begin + page_bytes - 1) / page_bytes * page_bytes;
  const auto last = (begin + bytes) / page_bytes * page_bytes;
  if (last > first)
    static_cast<void>(madvise(reinterpret_cast<void*>(first), last - first, MADV_HUGEPAGE));
#else
  static_cast<void>(memory);
  static_cast<void>(bytes);
#endif
}

} // namespace troupe
