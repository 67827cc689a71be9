// How much memory this process may still take: the least of what the machine has left, of what its
// control groups leave it (a container's limit, a batch system's), and of its own address space.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace troupe {

/// Why something ended that ran out of memory.
inline constexpr std::string_view memory_shortage = "there is not enough memory";

/// Where the kernel tells of it; others for tests.
struct memory_sources {
  std::string proc = "/proc";
  std::string groups = "/sys/fs/cgroup";
};

/// Bytes; the largest number where nothing says how many. Pages of files that a group holds count
/// as free: the kernel takes them back first.
struct free_memory {
  uint64_t machine = 0;
  uint64_t groups = 0;
  uint64_t address_space = 0;
};

free_memory memory_left(const memory_sources& from = {});

/// Where address space is limited (`ulimit -v`), threads that are yet to begin allocate from one arena:
/// glibc reserves 64 MiB of it for each other, and a run of two threads would need 320 MiB more.
void spare_address_space();

/// The least of these.
uint64_t memory_available(const memory_sources& from = {});

// How large a table may become while it is read. A few kilobytes of gzip data can ask for any
// amount of memory: who reads them is told what is needed and what there is, before the system ends
// some process for want of memory.

/// Of a row's target while a table becomes a data set: its text, its number, and what it is in the end.
inline constexpr uint64_t target_bytes_max = sizeof(std::string) + sizeof(double) + sizeof(float);

class table_limit {
public:
  /// `bytes_max` bounds the table read from `path`; 0: the memory this process may take now.
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
