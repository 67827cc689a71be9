// What a client of a federated run has to know of its job: the keys that say what it computes, and no others; as TOML.
// A client reads what a server says of other keys as an error: paths, folders and threads are its own affair.

#pragma once

#include "coordinators/job/job.hpp"

#include <string>
#include <string_view>

namespace troupe {

/// Whether clients are told this key.
bool is_client_key(std::string_view path);

/// Of a resolved job.
std::string client_job_text(const job& resolved);

} // namespace troupe
