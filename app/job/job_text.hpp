// What people read of the table of keys (coordinators/job/keys/job_keys.hpp): a job as TOML, the table
// in docs/jobs.md, and a key found by its last part.

#pragma once

#include "troupe/coordinators/job/keys/job_keys.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace troupe {

/// The path of the one key whose last part, or other name (models/keys/other_names.hpp), is `name`:
/// "epochs" -> "training.epochs". Nothing when there is none, or more than one.
std::optional<std::string> key_called(std::string_view name);

/// A job as TOML with every key, defaults included; a key that is decided when the job starts is a
/// comment that says how. Reading it gives an equal job, from whatever folder: a relative
/// `data.file` is written in full.
std::string job_text(const job& x);

/// The table of keys in docs/jobs.md, as Markdown.
std::string job_keys_markdown();

} // namespace troupe
