#include "troupe/data/disk/open_file.hpp"

#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace troupe {

open_file::open_file(open_file&& other) noexcept : number_(std::exchange(other.number_, -1)) {}

open_file& open_file::operator=(open_file&& other) noexcept {
  std::swap(number_, other.number_);
  return *this;
}

bool open_file::close() {
  const auto number = std::exchange(number_, -1);
  return number < 0 || ::close(number) == 0;
}

bool write_all(const open_file& file, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const auto count = ::write(file.number(), bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0)
      return false;
    bytes = bytes.subspan(static_cast<size_t>(count));
  }
  return true;
}

std::optional<size_t> read_at(const open_file& file, uint64_t offset, std::span<std::byte> out) {
  size_t done = 0;
  while (done < out.size()) {
    const auto count = ::pread(file.number(), out.data() + done, out.size() - done,
                               static_cast<off_t>(offset + done));
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0)
      return std::nullopt;
    if (count == 0)
      break;
    done += static_cast<size_t>(count);
  }
  return done;
}

// Some file systems cannot sync folders and say EINVAL.
bool sync_names(const open_file& folder) {
  return ::fsync(folder.number()) == 0 || errno == EINVAL;
}

std::string folder_of(const std::string& path) {
  const auto slash = path.find_last_of('/');
  if (slash == std::string::npos)
    return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

std::optional<uint64_t> bytes_available_in(const std::string& folder) {
  struct statvfs status {};
  if (::statvfs(folder.c_str(), &status) != 0)
    return std::nullopt;
  return static_cast<uint64_t>(status.f_bavail) * status.f_frsize;
}

} // namespace troupe
