// A first job for a file: what to learn from what, said with how sure that is.

#pragma once

#include "data/formats/csv/csv_columns.hpp"

#include <string>
#include <utility>
#include <vector>

namespace troupe {

/// Columns of a file of a header and rows, told apart.
struct job_proposal {
  std::string target;
  std::string target_reason; ///< "its name says so", and the like
  bool is_sure = false;      ///< of the target
  bool has_classes = false;
  std::string targets;                                      ///< what they are, in words
  std::vector<std::pair<std::string, std::string>> ignored; ///< by column: why
  std::vector<std::string> features;
  struct reading {
    std::string column;
    std::string reason; ///< with how sure it is
  };
  std::vector<reading> categorical{};
  std::vector<reading> boolean{};
  std::vector<reading> date{};
  std::string missing{};                    ///< which columns have gaps, in words; empty: none
  std::vector<std::string> missing_cells{}; ///< texts that stand in them
  bool drops_rows = false;                  ///< with gaps, as the target has some
};

/// `target`: the column that the user names; empty: to be guessed. Throws failure(bad_data) for a column
/// that is not there, for a target without most values, and where no feature is left.
job_proposal proposal_for(const csv_facts& facts, const std::string& target,
                          const std::string& path);

/// The job, with a comment at each decision. `file`: as the job is to name it; `path`: of the job.
std::string proposed_job(const csv_facts& facts, const job_proposal& x, const std::string& file,
                         const std::string& path);

} // namespace troupe
