// From a TOML file, the environment and `--set` options to a job. Later ones win:
// file < TROUPE_SECTION__KEY < --set section.key=value.

#pragma once

#include "app/toml/override.hpp"
#include "coordinators/job/job.hpp"
#include "data/text/failure.hpp"
#include "models/keys/toml_value.hpp"

#include <map>
#include <set>
#include <string>
#include <vector>

namespace troupe {

// Everything wrong with a job, at once: a job file is corrected in one pass, not error by error. Each error says where in
// which file, or by what else, its key was set.

/// One error: `where` is "file:line:column", "--set key=..." or "environment NAME".
struct job_error {
  std::string where;
  std::string why;
  std::string hint; ///< what to do; may be empty

  friend bool operator==(const job_error&, const job_error&) = default;
};

/// A failure(bad_job) that carries every error; its text lists all, one a line, in order.
class job_errors : public failure {
public:
  /// `errors` must not be empty. More than 100 are cut short, and the last then says so.
  explicit job_errors(std::vector<job_error> errors);

  const std::vector<job_error>& errors() const noexcept { return errors_; }

private:
  struct checked {
    std::vector<job_error> list;
  };
  explicit job_errors(checked errors);

  std::vector<job_error> errors_;
};

/// "file:line:column"; what is unknown counts as 1.
std::string place_text(const std::string& path, source_position at);

/// Where the keys of a job were set: "file:line:column", "--set key=..." or "environment NAME".
struct job_places {
  std::string file; ///< the job file
  std::map<std::string, std::string> by_key;

  /// The place of a key, or the nearest section that the file has, or else the file's beginning.
  std::string of(std::string key) const;
};

/// The problem as an error that says where its key was set.
job_error error_at(const job_problem& problem, const job_places& places);

// A job in the making: what files, the environment and `--set` have said so far, what is wrong with
// it, and where each key was set last. `load_job` and `load_cluster` are made of these steps.

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

struct loaded_job {
  job value;
  job_places places;
};

/// The job that the file describes, with everything the user could set filled in: `data.file` is
/// relative to the current folder, the name and the output directory are decided.
///
/// `sets` are the texts after --set, "a.b=value": the value is TOML, or else a string. A relative
/// `data.file` in the environment or in `sets` is relative to the current folder.
///
/// Throws failure(missing_input | no_permission) when the file cannot be read, else job_errors with
/// everything that is wrong, `problems` of the job included. Files above 1 MiB are refused unread.
loaded_job load_job_and_places(const std::string& path, const std::vector<std::string>& sets,
                               const environment& variables);
job load_job(const std::string& path, const std::vector<std::string>& sets = {},
             const environment& variables = {});

/// Called while `error` is caught. What `train` says of a job once it has seen the data names a
/// key, or the data file that cannot be read: here the place where that was set stands as well, as
/// for everything that is found without data. Other failures are thrown on as they are.
[[noreturn]] void throw_with_place(const failure& error, const loaded_job& x);

} // namespace troupe
