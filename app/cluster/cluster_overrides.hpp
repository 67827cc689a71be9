// What the environment and `--set` say of a cluster: keys of all nodes, such as timeouts.lost_after
// or insecure. Everything else they say is the job's.

#pragma once

#include "app/cluster/cluster_schema.hpp"
#include "app/job/job_errors.hpp"
#include "app/toml/override.hpp"

#include <map>
#include <string>
#include <vector>

namespace troupe {

/// True for the sections and keys at the top of a cluster file that a job file does not have.
bool is_cluster_word(const std::string& name);
/// "[[nodes]]" is no key of a job that somebody misspelt.
bool is_misspelt_cluster_word(const std::string& name);
const std::vector<std::string>& cluster_words();

struct cluster_overrides {
  environment variables;                     ///< of the job
  std::vector<std::string> sets;             ///< likewise
  std::map<std::string, std::string> places; ///< where keys of all nodes were set last
  std::vector<job_error> errors;

  /// True when a key, or one of a section, was set.
  bool has(const std::string& key) const;
};

/// Applies variables, and over them sets, to `settings`. Paths in them are relative to the current
/// folder. `TROUPE_INSECURE` sets the one key that stands in no section.
cluster_overrides apply_cluster_overrides(const std::vector<std::string>& sets,
                                          const environment& variables, cluster_settings& settings);

} // namespace troupe
