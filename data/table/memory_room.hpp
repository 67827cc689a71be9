// How much memory this process may still take: the least of what the machine has left, of what its
// control groups leave it (a container's limit, a batch system's), and of its own address space.

#pragma once

#include <cstdint>
#include <string>

namespace troupe {

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

} // namespace troupe
