#include "data/run_folder/flight_files.hpp"

#include "data/disk/atomic_file.hpp"
#include "data/disk/open_file.hpp"
#include "data/records/flight_log.hpp"
#include "data/text/failure.hpp"

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <optional>
#include <system_error>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace troupe {

namespace {

namespace fs = std::filesystem;

constexpr std::time_t stillborn_after_s = 60;

bool has_name_of_flight(const std::string& name) {
  return name.starts_with("troupe-") && name.ends_with(".flight");
}

// Anybody may put files into a folder of all: only this user's are read, and nobody waits at a pipe.
bool is_own(const open_file& file) {
  struct stat found {};
  return fstat(file.number(), &found) == 0 && S_ISREG(found.st_mode) && found.st_uid == geteuid() &&
         found.st_nlink > 0;
}

std::vector<std::byte> content_of(const open_file& file, size_t bytes_max) {
  std::vector<std::byte> result(bytes_max);
  result.resize(read_at(file, 0, result).value_or(0));
  return result;
}

/// A file that nobody holds any more; while this lives nobody else takes it.
struct opened_flight {
  open_file file;
  left_flight what;
};

std::optional<opened_flight> open_left(const std::string& path) {
  opened_flight result{
    open_file{open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)}, {}};
  if (!result.file || flock(result.file.number(), LOCK_EX | LOCK_NB) != 0 || !is_own(result.file))
    return std::nullopt;
  try {
    const auto log = read_flight(content_of(result.file, flight_header_bytes), path);
    result.what = {path, log.process, log.run_directory, log.begin_unix_ms};
  } catch (const failure&) {
    return std::nullopt;
  }
  return result;
}

std::vector<opened_flight> open_all_left(const std::string& folder) {
  std::vector<opened_flight> result;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator{folder, ignored})
    if (has_name_of_flight(entry.path().filename().string()))
      if (auto one = open_left(entry.path().string()))
        result.push_back(std::move(*one));
  std::ranges::sort(result, {}, [](const opened_flight& x) { return x.what.begin_unix_ms; });
  return result;
}

// Its process was killed as it made it; one that is just being made is younger.
bool is_stillborn(const fs::directory_entry& x) {
  struct stat found {};
  return lstat(x.path().c_str(), &found) == 0 && S_ISREG(found.st_mode) && found.st_size == 0 &&
         found.st_uid == geteuid() && std::time(nullptr) - found.st_mtime > stillborn_after_s;
}

std::string file_name_of(std::string process) {
  std::ranges::replace(process, '/', '_');
  return std::string{flight_file_prefix} + process + ".bin";
}

std::string moved_into(const std::string& run_directory, const opened_flight& x) {
  try {
    const auto bytes = content_of(x.file, flight_file_bytes);
    const auto path = (fs::path{run_directory} / file_name_of(x.what.process)).string();
    write_file_atomically(path, std::span{bytes}.first(read_flight(bytes, path).used_bytes));
    unlink(x.what.path.c_str());
    return path;
  } catch (const failure&) {
    return x.what.path;
  }
}

} // namespace

std::vector<left_flight> left_flights(const std::string& folder) {
  std::vector<left_flight> result;
  for (const auto& x : open_all_left(folder))
    result.push_back(x.what);
  return result;
}

std::vector<std::string> take_in_flights(const std::string& folder,
                                         const std::string& run_directory) {
  std::vector<std::string> result;
  for (const auto& x : open_all_left(folder)) {
    if (x.what.run_directory != run_directory)
      continue;
    const auto path = moved_into(run_directory, x);
    if (std::ranges::find(result, path) == result.end())
      result.push_back(path);
  }
  return result;
}

void drop_old_flights(const std::string& folder) {
  const auto all = open_all_left(folder);
  for (size_t i = 0; i + flight_files_kept < all.size(); ++i)
    unlink(all[i].what.path.c_str());
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator{folder, ignored})
    if (has_name_of_flight(entry.path().filename().string()) && is_stillborn(entry))
      unlink(entry.path().c_str());
}

} // namespace troupe
