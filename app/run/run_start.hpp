// Where a training begins: from nothing, from a checkpoint, or not at all because there is nothing
// left to do. Looks at the folders of the run, and refuses what would lose or mix up results.

#pragma once

#include "actors/run/job_data.hpp"
#include "app/job/job_file.hpp"
#include "coordinators/job/job.hpp"
#include "coordinators/parallel/parallel_plan.hpp"
#include "data/checkpoint/checkpoint_store.hpp"
#include "data/records/training_record.hpp"
#include "data/run_folder/run_directory.hpp"
#include "data/training_rows/prepare.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace troupe {

/// The two folders of a run, claimed; often they are one.
class run_folders {
public:
  /// Throws failure(cannot_create) when one of them cannot be claimed or written, or holds a run
  /// that is to be refused.
  run_folders(const job& x, earlier_run treatment);

  const run_directory& run() const noexcept { return run_; }
  earlier_run treatment() const noexcept { return treatment_; }
  const std::shared_ptr<checkpoint_store>& checkpoints() const noexcept { return checkpoints_; }

  /// Takes away what is to be replaced, and makes the run an unfinished one of this job.
  void begin(const std::string& job_text, const std::string& identity);
  /// Takes that back for a run that came to train nothing.
  void take_back() const noexcept { run_.take_back(); }

private:
  run_directory run_;
  std::optional<folder_claim> checkpoint_claim_; ///< of a folder of their own
  std::shared_ptr<checkpoint_store> checkpoints_;
  earlier_run treatment_;
};

/// What decides over a run that has ended whether training it again would add anything.
struct ended_run {
  uint64_t steps = 0;     ///< it ended at
  std::string stopped_by; ///< as in its summary
  /// evaluate_every, target_loss, patience, tolerance, stop_rule, and the budget of privacy are as they were.
  bool same_rules = true;
  bool drops_best = false; ///< its result is the best version, now the last one is asked for
};

/// Whether a finished run can go on: lengths and stop rules are no part of a job's identity. It can
/// when it ended by its length or an interrupt and training now ends later (at `last_version`). It
/// can when a rule that reads results ended it and these rules were changed: the same rules would end
/// it at the same step. And it can when the job now asks for the last version in place of the best.
bool can_go_on(const ended_run& ended, uint64_t last_version);

struct run_start {
  std::string identity;                     ///< its hash is job_sha256
  std::optional<checkpoint> resume_from;    ///< to go on from; nothing: from the beginning
  std::optional<training_summary> finished; ///< set when there is nothing left to do
  uint64_t model_file_bytes = 0;            ///< the model's file takes no more, or hardly
  std::string note; ///< where a resumed run begins, a whole line; else empty
};

/// Decides where `x` begins. Changes nothing. `warn` gets a whole line for each checkpoint that
/// cannot be used.
///
/// Throws failure: cannot_create when the folder holds another job, or a model without a checkpoint to go on from;
/// mismatch when machines of another numerics class computed the checkpoint; bad_data when there are checkpoints
/// and none can be used (it skips one that is damaged, or of another shape than the job); bad_job when the job does
/// not fit its data, or the checkpoint is beyond the end of training; diverged when the run in the folder diverged,
/// as it would again.
run_start find_start(const job& x, const prepared_data& data, const run_folders& folders,
                     const std::function<void(const std::string&)>& warn,
                     const run_place& where = {});

// The plan of a run from its file and the shape of its data, for commands that show it and do not
// train.

struct planned_run {
  std::vector<process_plan> processes;     ///< in order of the nodes
  std::optional<parallel_plan> replicas{}; ///< of those that train in step
};

/// Reads the data. Throws failure as the run would, with the key's place in the file: for data that
/// cannot be read, a job that cannot be trained on them, missing memory.
planned_run plan_run(const loaded_job& loaded, const cluster_plan& cluster);

} // namespace troupe
