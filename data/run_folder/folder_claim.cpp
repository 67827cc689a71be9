#include "data/run_folder/folder_claim.hpp"

#include "data/disk/open_file.hpp"
#include "data/text/failure.hpp"

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace troupe {

namespace {

std::string set_key_to(const folder_role& role, const std::string& what) {
  return "set " + std::string{role.key} + " to " + what;
}

// The folders that have to be made for `path`, the innermost first.
std::vector<std::string> missing_folders(const std::filesystem::path& path) {
  std::vector<std::string> result;
  std::error_code ignored;
  for (auto at = path.lexically_normal(); !at.empty() && !std::filesystem::exists(at, ignored);
       at = at.parent_path())
    if (at.has_filename()) // "runs/" is "runs"
      result.push_back(at.string());
  return result;
}

// Why `path` cannot be used, with the code of any file that cannot be written.
[[noreturn]] void refuse(const std::string& path, const folder_role& role, const std::string& what,
                         int error) {
  const auto code = writing_failure({what, path, error}, {}).code();
  const bool has_no_locks = error == ENOLCK || error == ENOSYS || error == EOPNOTSUPP;
  throw failure(
    code, "cannot " + what + " the " + std::string{role.name} + ": " + std::strerror(error), path,
    set_key_to(role, error == ENAMETOOLONG            ? "a shorter path"
                     : has_no_locks                   ? "a folder of a disk that has locks"
                     : code == failure_code::io_error ? "a folder of another disk"
                                                      : "a folder you may write to"));
}

void make_folder(const std::string& path, const folder_role& role) {
  const std::string name{role.name};
  std::error_code error;
  if (std::filesystem::exists(path, error) && !std::filesystem::is_directory(path, error))
    throw failure(failure_code::cannot_create, "the " + name + " is a file", path,
                  set_key_to(role, "another path"));
  std::filesystem::create_directories(path, error);
  if (error)
    refuse(path, role, "create", error.value());
}

// The number of an error, or 0 when files can be made.
int try_to_write(const std::string& path) {
  std::string pattern = path + "/.probe-XXXXXX";
  const int probe = mkstemp(pattern.data());
  if (probe < 0)
    return errno;
  close(probe);
  unlink(pattern.c_str());
  return 0;
}

std::string holder_of(int lock) {
  std::array<char, 32> text{};
  const ssize_t count = pread(lock, text.data(), text.size() - 1, 0);
  std::string result(text.data(), count > 0 ? static_cast<size_t>(count) : 0);
  result.erase(result.find_last_not_of(" \n") + 1);
  return result.empty() ? "?" : result;
}

// The holder of a lock removes its file; who opened it just before holds a lock on nothing.
bool was_removed(int lock) {
  struct stat status {};
  return fstat(lock, &status) != 0 || status.st_nlink == 0;
}

void write_holder(int lock) {
  const std::string text = std::to_string(getpid()) + "\n";
  // The number is for people only: a disk too full for it will say so soon enough.
  if (ftruncate(lock, 0) != 0 || pwrite(lock, text.data(), text.size(), 0) < 0)
    return;
}

} // namespace

folder_claim::folder_claim(std::string path, const folder_role& role)
  : path_(std::move(path)), role_(role) {
  made_ = missing_folders(path_);
  make_folder(path_, role_);
  lock();
  if (const int error = try_to_write(path_)) {
    let_go();
    refuse(path_, role_, "write to", error);
  }
}

folder_claim::~folder_claim() {
  let_go();
}

void folder_claim::let_go() {
  unlink(lock_path().c_str());
  for (const auto& folder : made_)
    if (rmdir(folder.c_str()) != 0) // there is something in it
      break;
  close(lock_);
}

std::string folder_claim::lock_path() const {
  return (std::filesystem::path{path_} / lock_file_name).string();
}

void folder_claim::lock() {
  const std::string name = lock_path();
  int retries = 100;
  for (;;) {
    lock_ = open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (lock_ < 0 && errno == ENOENT && std::exchange(retries, retries - 1) > 0) {
      make_folder(path_, role_); // whoever had made it has just taken it away
      continue;
    }
    if (lock_ < 0)
      refuse(path_, role_, "write to", errno);
    if (flock(lock_, LOCK_EX | LOCK_NB) != 0) {
      const int error = errno;
      const std::string holder = holder_of(lock_);
      close(lock_);
      if (error != EWOULDBLOCK)
        refuse(path_, role_, "lock", error);
      throw failure(failure_code::cannot_create,
                    "the " + std::string{role_.name} + " is in use by process " + holder, path_,
                    "wait for that run to end, or set another " + std::string{role_.key});
    }
    if (!was_removed(lock_))
      break;
    close(lock_);
  }
  write_holder(lock_);
}

} // namespace troupe
