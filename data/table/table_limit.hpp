// How large a table may become while it is read. A few kilobytes of gzip data can ask for any
// amount of memory: who reads them is told what is needed and what there is, before the system ends
// some process for want of memory.

#pragma once

#include <cstdint>
#include <string>

namespace troupe {

/// Of a row's target while a table becomes a data set: its text, its number, and what it is in the end.
inline constexpr uint64_t target_bytes_max = sizeof(std::string) + sizeof(double) + sizeof(float);

class table_limit {
public:
  /// `bytes_max` bounds the table read from `path`; 0: the memory this process may
  /// take now (data/table/memory_room.hpp).
  explicit table_limit(std::string path, uint64_t bytes_max = 0);

  uint64_t bytes_max() const noexcept { return bytes_max_; }

  /// Throws failure(bad_data), naming both numbers, when a table of `bytes` is too large.
  void require(uint64_t bytes) const {
    if (bytes > bytes_max_)
      refuse(bytes);
  }

private:
  [[noreturn]] void refuse(uint64_t bytes) const;

  std::string path_;
  uint64_t bytes_max_;
};

} // namespace troupe
