// The keys of a job file that say which rows it trains on, and in which order: section data.

#pragma once

#include "troupe/app/job/job_key.hpp"

#include <optional>
#include <string>
#include <vector>

namespace troupe {

/// A text as TOML writes it; nothing when it is empty, which says that the key is not set.
std::optional<std::string> text_or_unset(const std::string& text);

/// Adds all of section data.
void add_data_keys(std::vector<job_key>& out);

} // namespace troupe
