#include "data/disk/atomic_file.hpp"

#include "data/disk/open_file.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <utility>

namespace troupe {

namespace {

std::string next_temporary(const std::string& path) {
  static std::atomic<uint64_t> counter{0};
  return path + ".tmp-" + std::to_string(::getpid()) + "-" + std::to_string(counter++);
}

} // namespace

// A rename would put a plain file where a folder or device was, or fail after all the writing.
atomic_file::atomic_file(std::string path, const file_rules& rules)
  : disk_(posix_disk()), path_(std::move(path)), rules_(rules) {
  struct stat old {};
  const bool is_there = ::stat(path_.c_str(), &old) == 0;
  if (is_there && !S_ISREG(old.st_mode))
    throw failure(failure_code::cannot_create, "there is something that is not a file", path_,
                  "name a file to write");
  attempt([this] { open(); });
  if (is_there && !rules_.mode)
    out_->set_mode(old.st_mode & 0777);
}

atomic_file::atomic_file(std::shared_ptr<disk> where, std::string path, uint64_t bytes_needed)
  : disk_(std::move(where)),
    path_(std::move(path)),
    temporary_(path_ + std::string{unfinished_end}),
    has_fixed_name_(true),
    bytes_needed_(bytes_needed) {}

atomic_file::~atomic_file() {
  if (disk_ && is_begun_)
    remove();
}

void atomic_file::open() {
  if (out_)
    return;
  constexpr uint32_t usual_mode = 0666;
  const auto mode = rules_.mode ? mode_for_owner : usual_mode;
  if (has_fixed_name_)
    out_ = disk_->create(temporary_, mode);
  else
    out_ = disk_->create_nameless(folder_of(path_), mode);
  while (!out_) {
    auto name = next_temporary(path_);
    try {
      out_ = disk_->create(name, mode);
      temporary_ = std::move(name);
    } catch (const disk_error& error) {
      if (error.error_number() != EEXIST) // left by a process that was killed
        throw;
    }
  }
  if (rules_.mode && !out_->set_mode(*rules_.mode))
    throw disk_error("set the permissions of the file", path_, errno);
}

void atomic_file::reserve(uint64_t bytes) {
  need(bytes);
  attempt([&] {
    open();
    out_->reserve(bytes);
  });
  if (!temporary_.empty())
    remove(); // nobody is to see an empty file for hours, or ever
}

void atomic_file::write_at(uint64_t offset, std::span<const std::byte> bytes) {
  end_ = std::max(end_, offset + bytes.size());
  bytes_needed_ = std::max(bytes_needed_, end_);
  attempt([&] {
    open();
    out_->write(offset, bytes);
  });
}

void atomic_file::publish() {
  attempt([this] {
    if (!has_fixed_name_)
      open();
    if (out_)
      out_->sync();
    take_name();
  });
  is_begun_ = false; // it has its name, whole: nothing to remove
  out_.reset();
  end_ = 0;
  try {
    disk_->sync_folder(folder_of(path_));
  } catch (const disk_error& error) {
    throw told(error);
  }
}

// A link gives up when the name is taken, a renaming replaces.
void atomic_file::take_name() {
  if (temporary_.empty() || !rules_.replaces) {
    if (out_->link(path_)) {
      if (!temporary_.empty())
        disk_->remove(temporary_);
      return;
    }
    if (!rules_.replaces)
      throw failure(failure_code::cannot_create, "the file is there already", path_,
                    "give --overwrite to replace it");
    do
      temporary_ = next_temporary(path_);
    while (!out_->link(temporary_));
  }
  disk_->rename(temporary_, path_);
}

void atomic_file::remove() {
  is_begun_ = false;
  out_.reset();
  if (temporary_.empty())
    return;
  try {
    disk_->remove(temporary_);
  } catch (const disk_error&) { // it was never made, or the disk is gone: the first reason counts
  }
}

failure atomic_file::told(const disk_error& error) const {
  return writing_failure({"cannot " + error.operation(), path_, error.error_number()},
                         {bytes_needed_, disk_->bytes_available(folder_of(path_))});
}

void write_file_atomically(const std::string& path, std::span<const std::byte> content,
                           const file_rules& rules) {
  atomic_file file{path, rules};
  file.append(content);
  file.publish();
}

void write_file_atomically(const std::string& path, std::string_view content,
                           const file_rules& rules) {
  write_file_atomically(path, std::as_bytes(std::span(content)), rules);
}

} // namespace troupe
