// A training run of the command, alone or in a cluster: it claims its folders, begins where it
// should, writes its files and prints its result. `troupe train` and the director's process of a
// cluster differ in how they train, and in nothing else that a user sees.

#pragma once

#include "actors/run/train.hpp"
#include "app/commands/commands.hpp"
#include "app/job/job_file.hpp"
#include "coordinators/job/job.hpp"
#include "coordinators/parallel/parallel_plan.hpp"
#include "data/checkpoint/checkpoint_store.hpp"
#include "data/records/training_record.hpp"
#include "data/training_rows/prepare.hpp"

#include <functional>
#include <memory>
#include <string>

namespace troupe {

/// What training is given besides the job.
struct training_inputs : train_options {
  std::shared_ptr<const prepared_data> data;
  std::string table{};                             ///< of rows that nodes have (row_table.hpp)
  std::function<void(const std::string&)> on_news; ///< a line, without break, for people
  /// Called when nothing can refuse to begin any more: ports are open, files are read.
  std::function<void()> on_ready;
  /// Keeps the result; called before the other processes learn that the run is finished.
  std::function<void(training_result&)> keep;
  /// Where parameters may be kept that are too large for memory; unused by a process that computes alone.
  std::string scratch_folder;
};

/// Calls `on_ready` before it trains, and `keep` with what it returns.
using trainer = std::function<training_result(const job&, training_inputs)>;

/// Called when a run is finished already, with its result; `inputs` have the data only.
using finished_listener =
  std::function<void(const job&, training_inputs inputs, const training_summary&)>;

/// The rows of a job. `table`: what an earlier life of the run has agreed on, then what is agreed on (row_table.hpp), or
/// empty.
using row_loader =
  std::function<std::shared_ptr<const prepared_data>(const job&, std::string& table)>;

/// Trains in the job's run directory and prints the result. Without `load` the job says where the rows are. 0; 1 when training diverged; 130 or 143
/// when a signal ended it early. Throws failure, with the place of the key it is about.
int run_training(const loaded_job& loaded, const train_arguments& arguments, const trainer& train,
                 const finished_listener& on_finished = {}, const run_place& where = {},
                 const row_loader& load = {});

/// Runs a command's `body`, which says the job's name as soon as it knows it. With `json` a failure
/// is printed as an object before it is thrown on, so that scripts read the reason from standard
/// output. What is no failure becomes failure(internal).
int with_failure_object(bool json, const std::function<int(std::string& job_name)>& body);

/// The same of a command without a job.
int with_failure_object(bool json, const std::function<int()>& command);

} // namespace troupe
