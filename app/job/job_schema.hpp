// The table of every key of a job file: the one source that reading, `--set`, the environment,
// `config show` and docs/jobs.md follow.

#pragma once

#include "troupe/app/job/job_key.hpp"
#include "troupe/coordinators/job/job.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

/// In the order of the documentation; the keys of a section are neighbours.
const std::vector<job_key>& job_schema();

/// The key with this full path; null when there is none.
const job_key* find_job_key(const std::string& path);

/// The path of the one key whose last part, or other name (app/toml/other_names.hpp), is `name`:
/// "epochs" -> "training.epochs". Nothing when there is none, or more than one.
std::optional<std::string> key_called(std::string_view name);

/// A job as TOML with every key, defaults included; a key that is decided when the job starts is a
/// comment that says how. Reading it gives an equal job, from whatever folder: a relative
/// `data.file` is written in full.
std::string job_text(const job& x);

/// The table of keys in docs/jobs.md, as Markdown.
std::string job_keys_markdown();

} // namespace troupe
