// Flight recorders' files of processes that are gone: who starts or ends in a run directory takes in what
// dead processes of that run left in memory, and what nobody takes in does not pile up.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

/// How many files of dead processes stay in a folder.
inline constexpr size_t flight_files_kept = 8;

/// A file whose process is gone.
struct left_flight {
  std::string path;
  std::string process;
  std::string run_directory; ///< absolute
  uint64_t begin_unix_ms = 0;
};

/// This user's, in order of their begin. What cannot be read is none.
std::vector<left_flight> left_flights(const std::string& folder);

/// In a run directory the file of a process is called "flight-NODE.bin".
inline constexpr std::string_view flight_file_prefix = "flight-";

/// Moves those of this run into its directory, each over an older one of its process, and gives where
/// they are now. What cannot be moved stays where it is, and is given so.
std::vector<std::string> take_in_flights(const std::string& folder,
                                         const std::string& run_directory);

/// Removes the oldest ones, so that `flight_files_kept` stay, and empty files a minute old. What was removed
/// meanwhile is none.
void drop_old_flights(const std::string& folder);

} // namespace troupe
