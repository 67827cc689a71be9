#include "troupe/data/disk/replacement.hpp"

#include "troupe/data/disk/disk_failure.hpp"

#include <utility>

namespace troupe {

replacement::replacement(disk& where, std::string folder, std::string path, uint64_t bytes_needed)
  : disk_(where),
    folder_(std::move(folder)),
    path_(std::move(path)),
    temporary_(path_ + std::string{unfinished_end}),
    bytes_needed_(bytes_needed) {}

replacement::~replacement() {
  if (is_begun_)
    remove();
}

void replacement::publish() {
  attempt([&] { disk_.rename(temporary_, path_); });
  is_begun_ = false; // it has its name, whole: nothing to remove
  try {
    disk_.sync_folder(folder_);
  } catch (const disk_error& error) {
    throw told(error);
  }
}

void replacement::remove() {
  is_begun_ = false;
  try {
    disk_.remove(temporary_);
  } catch (const disk_error&) { // it was never made, or the disk is gone: the first reason counts
  }
}

failure replacement::told(const disk_error& error) const {
  return writing_failure({"cannot " + error.operation(), path_, error.error_number()},
                         {bytes_needed_, disk_.bytes_available(folder_)});
}

} // namespace troupe
