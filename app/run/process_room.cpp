#include "troupe/app/run/process_room.hpp"

#include "troupe/data/disk/open_file.hpp"
#include "troupe/data/text/failure.hpp"

#include <cerrno>
#include <cstring>
#include <future>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

namespace troupe {

namespace {

[[noreturn]] void refuse(size_t found, size_t needed, const char* what, int error,
                         const char* hint) {
  throw failure(failure_code::io_error,
                "this process needs " + std::to_string(needed) + " more " + what +
                  " and is permitted " + std::to_string(found) + ": " + std::strerror(error),
                {}, hint);
}

void require_threads(size_t count) {
  std::promise<void> over;
  const auto end = over.get_future().share();
  std::vector<std::jthread> all;
  int error = 0;
  try {
    while (all.size() < count)
      all.emplace_back([end] { end.wait(); });
  } catch (const std::system_error& found) {
    error = found.code().value();
  }
  over.set_value();
  if (all.size() < count)
    refuse(all.size(), count, "threads", error,
           "raise the limit (ulimit -u; pids.max of a container), or set runtime.threads lower");
}

void require_descriptors(size_t count) {
  std::vector<open_file> all;
  while (all.size() < count) {
    all.emplace_back(fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0));
    if (!all.back())
      refuse(all.size() - 1, count, "open files", errno, "raise the limit (ulimit -n)");
  }
}

} // namespace

void require_process_room(size_t thread_count, size_t descriptor_count) {
  require_threads(thread_count);
  require_descriptors(descriptor_count);
}

} // namespace troupe
