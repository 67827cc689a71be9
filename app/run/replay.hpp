// `troupe train --replay RUN`: a run again whose bits do not follow from its job alone: an asynchronous one, from the record
// of its decisions in its folder (data/records/sequence_file.hpp), or one whose clients dialled in, from the record of
// its rounds (data/records/recorded_rounds.hpp). The job and the data have to be those of that run.

#pragma once

#include "data/records/sequence_file.hpp"
#include "data/records/training_record.hpp"

#include <memory>
#include <optional>
#include <string>

namespace troupe {

struct recorded_run {
  std::string folder;
  std::string identity;                                        ///< of its job and data
  std::shared_ptr<const recorded_sequence> decisions;          ///< null: it had none
  std::shared_ptr<const std::vector<recorded_round>> rounds{}; ///< likewise
  std::optional<training_summary> summary;                     ///< nothing: it has not ended
};

/// The path of the job in a run's folder. Throws failure(missing_input) when that is none of a run that can be repeated,
/// and says why.
std::string job_of_record(const std::string& folder);

/// Whether it is the folder of a run whose clients dialled in.
bool has_rounds(const std::string& folder);

/// Throws failure: as read_sequence and read_summary do; missing_input without an identity.
recorded_run read_recorded_run(const std::string& folder);

/// Throws failure(mismatch), with the keys that differ, for another job or other data than the record is of.
void expect_same_job(const recorded_run& run, const std::string& identity);

/// Whether the repeated run came to the parameters of the recorded one, in words. Throws failure(mismatch) if not.
std::string outcome_of_replay(const recorded_run& run, const training_summary& repeated);

} // namespace troupe
