// The table of every key of a job: the one source that reading of files, `--set`, variables, checks,
// `config keys`, `config show`, docs/jobs.md and the identity follow. A key is one row
// (models/keys/key_table.hpp) in the file of its section.

#pragma once

#include "coordinators/job/job.hpp"
#include "models/keys/key_table.hpp"

#include <string>
#include <utility>
#include <vector>

namespace troupe {

using job_key = key_row<job>;
using job_key_rows = std::vector<job_key>;

/// In the order of the documentation; the keys of a section are neighbours. Options of kinds that an
/// application added before the first call are among them.
const job_key_rows& job_keys();

/// Without options of kinds (models/kinds/kind_table.hpp).
const job_key_rows& fixed_job_keys();

/// The key with this full path; null when there is none.
const job_key* find_job_key(const std::string& path);

/// Whether each key of the section has a value that it takes: else its numbers are not computed with.
bool is_in_range(const job& x, const std::string& section);

/// Each path of a file that the job may name, with its key; empty ones too.
std::vector<std::pair<std::string, std::string*>> files_of(job& x);

// ---- Sections, each in a source of its own ------------------------------------------------------

void add_data_keys(job_key_rows& out);
void add_model_keys(job_key_rows& out, bool with_options);
void add_optimizer_keys(job_key_rows& out, bool with_options);
void add_training_keys(job_key_rows& out, bool with_options);
void add_merge_keys(job_key_rows& out, bool with_options);
void add_federated_keys(job_key_rows& out);
void add_privacy_keys(job_key_rows& out);

/// A schedule; paths are relative to it: "kind", "steps", .., "then".
const std::vector<key_row<schedule_options>>& schedule_keys();

/// An inline TOML table of every key of a schedule.
std::string toml_text(const schedule_options& schedule);

} // namespace troupe
