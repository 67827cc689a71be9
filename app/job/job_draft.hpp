// A job in the making: what files, the environment and `--set` have said so far, what is wrong with
// it, and where each key was set last. `load_job` and `load_cluster` are made of these steps.

#pragma once

#include "app/job/job_errors.hpp"
#include "app/toml/override.hpp"
#include "coordinators/job/job.hpp"
#include "models/keys/toml_value.hpp"

#include <set>
#include <string>
#include <vector>

namespace troupe {

/// The tables of a TOML file. Throws failure(missing_input | no_permission) when it cannot be read,
/// job_errors when it is no TOML or has more than 1 MiB.
toml_value::table read_toml_file(const std::string& path);

/// What to say of a variable that sets nothing because of its one underscore; `meant` is the key.
job_error misspelt_variable(const std::string& name, const std::string& meant);

struct job_draft {
  job value;
  std::vector<job_error> errors;
  std::set<std::string> complained; ///< keys and sections with an error of their own
  job_places places;

  void complain(const std::string& key, job_error error);

  /// Reads the sections of a file; paths in it are relative to its folder.
  void read_sections(const toml_value::table& sections, const std::string& path);
  void apply_environment(const environment& variables);
  void apply_sets(const std::vector<std::string>& sets);

  /// A name and an output directory if there are none yet, after the file.
  void fill_defaults(const std::string& path);
  /// Complains about what no key says by itself (`problems` of the job).
  void add_problems();

private:
  void apply_override(const std::string& path, const std::string& text, const std::string& where);
  bool has_complaint(const std::string& key) const;
};

} // namespace troupe
