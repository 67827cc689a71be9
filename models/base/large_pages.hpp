// Room for large tables and buffers. Touching fresh memory in pages of 4 KiB costs more than
// reading a file into it, and looking pages up costs a share of every sweep through a model; the
// kernel gives pages of 2 MiB to those who ask.

#pragma once

#include <cstddef>
#include <vector>

namespace troupe {

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
