#include "data/disk/secret_file.hpp"

#include "data/disk/open_file.hpp"
#include "data/text/failure.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace troupe {

namespace {

/// Certificates take a few kilobytes.
constexpr size_t small_file_bytes_max = size_t{1} << 20;

[[noreturn]] void cannot_read(const std::string& path, int error) {
  throw reading_failure({"cannot read the file", path, error});
}

std::string read_from(int descriptor, const std::string& path) {
  std::string result;
  std::array<char, 4096> bytes;
  for (;;) {
    const auto count = ::read(descriptor, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0)
      cannot_read(path, errno);
    if (count == 0)
      return result;
    result.append(bytes.data(), static_cast<size_t>(count));
    if (result.size() > small_file_bytes_max)
      throw failure(failure_code::bad_data, "is too large for a certificate or a key", path);
  }
}

/// What keeps a file from being read: anybody who has one of these.
struct forbidden_access {
  mode_t bits = 0;
  const char* why = "";
  const char* remedy = "";
};

std::string read_file(const std::string& path, const forbidden_access& forbidden) {
  // Not waiting for whoever holds the other end, should this be a pipe.
  const open_file file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  struct stat facts {};
  if (!file || ::fstat(file.number(), &facts) != 0)
    cannot_read(path, errno);
  if ((facts.st_mode & forbidden.bits) != 0)
    throw failure(failure_code::no_permission, forbidden.why, path, forbidden.remedy + path);
  return read_from(file.number(), path);
}

} // namespace

std::string read_small_file(const std::string& path) {
  return read_file(path, {});
}

std::string read_unchanged_file(const std::string& path) {
  return read_file(
    path, {S_IWOTH, "everybody may write this file, which decides whom to trust", "chmod o-w "});
}

std::string read_secret_file(const std::string& path) {
  return read_file(
    path, {S_IRWXG | S_IRWXO, "others than its owner have access to this key", "chmod 600 "});
}

} // namespace troupe
