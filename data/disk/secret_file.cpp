#include "troupe/data/disk/secret_file.hpp"

#include "troupe/data/disk/disk_failure.hpp"
#include "troupe/data/disk/open_file.hpp"
#include "troupe/data/text/failure.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <span>

namespace troupe {

namespace {

/// Certificates take a few kilobytes.
constexpr size_t small_file_bytes_max = size_t{1} << 20;

[[noreturn]] void cannot_write(const std::string& path, size_t bytes, int error) {
  if (error == EEXIST)
    throw failure(failure_code::cannot_create, "the file is there already", path,
                  "give --overwrite to replace it");
  throw writing_failure({"cannot write the file", path, error}, {bytes, {}});
}

/// The name a file has until it is whole; only its owner can open it (mkstemp).
class draft {
public:
  explicit draft(const std::string& path)
    : name_(path + ".XXXXXX"), file_(::mkstemp(name_.data())) {}
  ~draft() {
    if (file_)
      ::unlink(name_.c_str());
  }
  bool fill(const std::string& content, mode_t mode) const {
    return file_ && ::fchmod(file_.number(), mode) == 0 &&
           write_all(file_, std::as_bytes(std::span(content))) && ::fsync(file_.number()) == 0;
  }
  /// A link gives up when the name is taken, a renaming replaces.
  bool take_name(const std::string& path, bool replaces) const {
    return (replaces ? ::rename(name_.c_str(), path.c_str())
                     : ::link(name_.c_str(), path.c_str())) == 0;
  }

private:
  std::string name_;
  open_file file_;
};

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

void write_guarded_file(const std::string& path, const std::string& content, file_access access,
                        bool replaces) {
  const draft made{path};
  if (!made.fill(content, access == file_access::owner ? 0600 : 0644) ||
      !made.take_name(path, replaces))
    cannot_write(path, content.size(), errno);
}

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
