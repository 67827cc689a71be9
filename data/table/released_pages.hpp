// Memory given back to the system while its owner keeps the addresses: for large vectors that have
// been read past and will be written anew, or never again.

#pragma once

#include <cstddef>
#include <span>

namespace troupe {

/// The whole pages within `bytes` take no memory until they are written again; what they held is
/// lost, and so is what lies in the rest of `bytes` for all the caller knows.
void release_pages(std::span<std::byte> bytes);

} // namespace troupe
