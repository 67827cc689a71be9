// Writes a file whole or not at all: whoever opens the path sees the old content or the new one,
// never a part of either, even if the machine stops in between.

#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace troupe {

/// Writes `content` to `path`, replacing a file that is there.
///
/// The content goes to a temporary file in the same folder, reaches the disk, takes the name, and
/// then the folder reaches the disk. Throws failure and leaves what was there as it was, without a
/// temporary file: cannot_create when the folder is missing or `path` is a folder, no_permission,
/// io_error otherwise; a full disk is told with the bytes needed and available.
void write_file_atomically(const std::string& path, std::span<const std::byte> content);
void write_file_atomically(const std::string& path, std::string_view content);

/// The same for content that stands in several places: the pieces, one after the other.
void write_file_atomically(const std::string& path,
                           std::span<const std::span<const std::byte>> pieces);

} // namespace troupe
