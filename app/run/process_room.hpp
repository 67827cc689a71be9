// Process room: whether this process may start the threads and open the files that a run needs. CAF does
// not survive a thread that it cannot start, so the command asks before it makes an actor system.

#pragma once

#include <cstddef>

namespace troupe {

/// Starts so many threads at once, and opens so many descriptors, and ends and closes them again. Throws
/// failure(io_error) that names the limit when the system permits fewer.
void require_process_room(size_t thread_count, size_t descriptor_count);

} // namespace troupe
