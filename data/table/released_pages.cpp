#include "troupe/data/table/released_pages.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>

namespace troupe {

void release_pages(std::span<std::byte> bytes) {
  static const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<uintptr_t>(bytes.data());
  const auto first = (begin + page - 1) / page * page;
  const auto last = (begin + bytes.size()) / page * page;
  if (first < last) // advice: where it is not taken, memory is held for longer
    ::madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED);
}

} // namespace troupe
