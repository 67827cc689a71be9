// Rows in many files, each of which is one client's: a table of all of them.

#pragma once

#include "troupe/data/formats/read_data.hpp"

#include <string>
#include <vector>

namespace troupe {

/// Files that the pattern names, sorted by bytes: `*` in its last part stands for any letters, also for
/// none, `?` for one. Names that begin with a point are passed over. Throws failure(missing_input) when
/// there is none.
std::vector<std::string> matching_files(const std::string& pattern);

/// The rows of all these files, one file behind the other; each file is a client, called by its name.
/// Throws what read_data throws, and failure(bad_data), naming the file, where columns are not those of the
/// first one, or rows are sparse.
table read_client_files(const std::string& pattern, const read_options& options);

} // namespace troupe
