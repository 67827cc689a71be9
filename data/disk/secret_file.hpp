// Files that hold a secret, or stand beside one: made whole and with their permissions from the
// first byte on, never over another file unless that is asked for, and read only when nobody else
// can read them, or change them.

#pragma once

#include <cstdint>
#include <string>

namespace troupe {

enum class file_access : uint8_t {
  owner,    ///< rw-------: a private key
  everyone, ///< rw-r--r--: a certificate
};

/// Writes `content` to `path`. Whoever opens the path sees the old content or the new one. Unless
/// `replaces`, a file that is there stays as it is.
///
/// Throws failure: cannot_create when there is one, or no such folder; no_permission; io_error.
void write_guarded_file(const std::string& path, const std::string& content, file_access access,
                        bool replaces);

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
