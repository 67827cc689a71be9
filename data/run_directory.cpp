#include "troupe/data/run_directory.hpp"

#include "troupe/data/atomic_file.hpp"
#include "troupe/data/failure.hpp"

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace troupe {

namespace {

// In the order of removal: without its summary a run counts as unfinished, so that goes first.
constexpr std::array run_files{summary_file_name, model_file_name, history_file_name,
                               job_file_name};

[[noreturn]] void refuse(const std::string& path, const std::string& why, const std::string& hint) {
  throw failure(failure_code::cannot_create, why, path, hint);
}

[[noreturn]] void cannot_write(const std::string& path, int error) {
  refuse(path, std::string{"cannot write to the run directory: "} + std::strerror(error),
         "set output.directory to a folder you may write to");
}

void make_folder(const std::string& path) {
  std::error_code error;
  if (std::filesystem::exists(path, error) && !std::filesystem::is_directory(path, error))
    refuse(path, "the run directory is a file", "set output.directory to another path");
  std::filesystem::create_directories(path, error);
  if (error)
    refuse(path, "cannot create the run directory: " + error.message(),
           "set output.directory to a folder you may write to");
}

// Learns now, not after hours of training, whether files can be made.
void try_to_write(const std::string& path) {
  std::string pattern = path + "/.probe-XXXXXX";
  const int probe = mkstemp(pattern.data());
  if (probe < 0)
    cannot_write(path, errno);
  close(probe);
  unlink(pattern.c_str());
}

std::string holder_of(int lock) {
  std::array<char, 32> text{};
  const ssize_t count = pread(lock, text.data(), text.size() - 1, 0);
  std::string result(text.data(), count > 0 ? static_cast<size_t>(count) : 0);
  result.erase(result.find_last_not_of(" \n") + 1);
  return result;
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

void refuse_earlier_run(const std::string& path) {
  const auto has = [&](std::string_view name) {
    std::error_code ignored;
    return std::filesystem::exists(std::filesystem::path{path} / name, ignored);
  };
  const std::string hint = "add --overwrite to replace it, or set another output.directory";
  for (const auto name : {summary_file_name, model_file_name})
    if (has(name))
      refuse(path, "the run directory holds a finished run (" + std::string{name} + ")", hint);
  for (const auto name : {job_file_name, history_file_name})
    if (has(name))
      refuse(path, "the run directory holds an unfinished run (" + std::string{name} + ")", hint);
}

} // namespace

run_directory::run_directory(std::string path, bool overwrite) : path_(std::move(path)) {
  make_folder(path_);
  lock();
  try {
    try_to_write(path_);
    if (!overwrite)
      refuse_earlier_run(path_);
  } catch (...) {
    unlink(file(lock_file_name).c_str());
    close(lock_);
    throw;
  }
}

run_directory::~run_directory() {
  unlink(file(lock_file_name).c_str());
  close(lock_);
}

std::string run_directory::file(std::string_view name) const {
  return (std::filesystem::path{path_} / name).string();
}

void run_directory::begin(std::string_view job_text) {
  for (const auto name : run_files) {
    const std::string old = file(name);
    if (unlink(old.c_str()) != 0 && errno != ENOENT)
      refuse(old, std::string{"cannot replace a file of an earlier run: "} + std::strerror(errno),
             "remove it, or set another output.directory");
  }
  write_file_atomically(file(job_file_name), job_text);
}

void run_directory::lock() {
  const std::string name = file(lock_file_name);
  for (;;) {
    lock_ = open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (lock_ < 0)
      cannot_write(path_, errno);
    if (flock(lock_, LOCK_EX | LOCK_NB) != 0) {
      const int error = errno;
      const std::string holder = holder_of(lock_);
      close(lock_);
      if (error != EWOULDBLOCK)
        cannot_write(path_, error);
      refuse(path_, "the run directory is in use by process " + (holder.empty() ? "?" : holder),
             "wait for that run to end, or set another output.directory");
    }
    if (!was_removed(lock_))
      break;
    close(lock_);
  }
  write_holder(lock_);
}

} // namespace troupe
