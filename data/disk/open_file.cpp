#include "data/disk/open_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>
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

namespace {

failure_code code_of_writing(int error_number) {
  switch (error_number) {
  case ENOENT:
  case ENOTDIR:
  case EISDIR:
  case ENOTEMPTY:
  case EEXIST:
  case ENAMETOOLONG:
  case ELOOP:
    return failure_code::cannot_create;
  case EACCES:
  case EPERM:
  case EROFS:
    return failure_code::no_permission;
  default:
    return failure_code::io_error;
  }
}

failure_code code_of_reading(int error_number) {
  if (error_number == ENOENT || error_number == ENOTDIR)
    return failure_code::missing_input;
  return error_number == EACCES || error_number == EPERM ? failure_code::no_permission
                                                         : failure_code::io_error;
}

std::string sentence(const disk_refusal& refusal) {
  return refusal.what + " (" + std::generic_category().message(refusal.error_number) + ")";
}

} // namespace

failure writing_failure(const disk_refusal& refusal, const disk_room& room) {
  const auto code = code_of_writing(refusal.error_number);
  auto reason = sentence(refusal);
  std::string hint;
  if (refusal.error_number == ENOSPC || refusal.error_number == EDQUOT) {
    const auto there =
      room.bytes_available ? std::to_string(*room.bytes_available) : "an unknown number";
    reason += ": " + std::to_string(room.bytes_needed) + " bytes needed, " + there + " available";
    hint = "free some space or write elsewhere";
  } else if (refusal.error_number == ENOENT) {
    hint = "create the folder first";
  } else if (code == failure_code::no_permission) {
    hint = "check the permissions of the folder";
  }
  return {code, reason, refusal.path, hint};
}

failure reading_failure(const disk_refusal& refusal) {
  const auto code = code_of_reading(refusal.error_number);
  const auto hint = code == failure_code::no_permission   ? "check its permissions"
                    : code == failure_code::missing_input ? "check the path"
                                                          : "";
  return {code, sentence(refusal), refusal.path, hint};
}

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
