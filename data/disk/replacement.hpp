// Replacement: a file of a `disk` that is written whole or not at all.
//
//   attempt, attempt, .. ---> publish: it has its name, and the one before is gone
//       \---> fails, or is destroyed: nothing is left of it

#pragma once

#include "troupe/data/disk/disk.hpp"
#include "troupe/data/text/failure.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace troupe {

/// How names end of files that are not whole yet.
inline constexpr std::string_view unfinished_end = ".tmp";

/// The file that has the name now, if any, stays until the new one is safe.
class replacement {
public:
  /// `path` is in `folder`. `bytes_needed`: for messages.
  replacement(disk& where, std::string folder, std::string path, uint64_t bytes_needed);
  ~replacement();
  replacement(const replacement&) = delete;
  replacement& operator=(const replacement&) = delete;

  /// Where the content goes.
  const std::string& temporary() const { return temporary_; }
  void need(uint64_t bytes) { bytes_needed_ = bytes; }

  /// Does something with the temporary file. A disk_error costs the file, and is thrown on as
  /// failure(io_error | no_permission | cannot_create) with the path, and for a full disk the bytes
  /// needed and there.
  template <class Action>
  void attempt(const Action& action) {
    is_begun_ = true;
    try {
      action();
    } catch (const disk_error& error) {
      remove(); // what it takes is room, too
      throw told(error);
    }
  }

  /// Gives it its name, once its content has reached the disk. Throws likewise.
  void publish();

private:
  void remove();
  failure told(const disk_error& error) const;

  disk& disk_;
  std::string folder_;
  std::string path_;
  std::string temporary_;
  uint64_t bytes_needed_;
  bool is_begun_ = false;
};

} // namespace troupe
