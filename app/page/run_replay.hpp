// The page of a run that has ended, or that another process trains: filled from the files of its
// folder.

#pragma once

#include "troupe/app/page/page_feed.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace troupe {

/// Whether there is a run in a folder, finished or not.
bool is_run_folder(const std::string& path);

/// Of its rounds.csv those up to `version`: where a run goes on from. None without such a file. Throws
/// failure(bad_data) when the file is none of ours.
std::vector<round_record> rounds_of_run(const std::string& path, uint64_t version);

/// Its curves, rounds, and its figures in the words of a status. Throws failure: missing_input when the
/// folder holds no run, bad_data when a file of it is none of ours.
std::shared_ptr<const page_feed> feed_of_run(const std::string& path);

} // namespace troupe
