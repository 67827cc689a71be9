// Files that hold a secret, or stand beside one: read only when nobody else can read them, or change them.
// atomic_file.hpp writes them.

#pragma once

#include <string>

namespace troupe {

/// The whole of a file of at most 1 MiB. Throws failure: missing_input, no_permission, io_error;
/// bad_data when it is larger.
std::string read_small_file(const std::string& path);

/// The same of a file that decides whom to trust. Throws also no_permission when everybody may
/// write it.
std::string read_unchanged_file(const std::string& path);

/// The same of a file that nobody but its owner may read. Throws also no_permission when its group
/// or others have any access.
std::string read_secret_file(const std::string& path);

} // namespace troupe
