// Counts what the test binary allocates, by operators new and delete of its own: for one source of a
// binary.

#pragma once

#include <cstddef>
#include <cstdlib>
#include <new>

namespace {

thread_local size_t allocation_count = 0;

void* counted(size_t size, size_t alignment) {
  ++allocation_count;
  // aligned_alloc wants a multiple of the alignment.
  void* memory = std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
  if (memory == nullptr)
    throw std::bad_alloc();
  return memory;
}

} // namespace

// The compiler sees free beside new and does not know that new is ours.
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"

void* operator new(size_t size) {
  return counted(size, alignof(std::max_align_t));
}
void* operator new(size_t size, const std::nothrow_t&) noexcept { // std::stable_sort's
  ++allocation_count;
  return std::malloc(size);
}
void* operator new(size_t size, std::align_val_t alignment) {
  return counted(size, static_cast<size_t>(alignment));
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, size_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, size_t, std::align_val_t) noexcept {
  std::free(memory);
}
