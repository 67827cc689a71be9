#include "models/base/large_pages.hpp"

#include <sys/mman.h>

#include <cstdint>

namespace troupe {

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
