// A job's data, ready to train on: read or made, then split and standardised.

#pragma once

#include "coordinators/job/job.hpp"
#include "coordinators/job/resolve.hpp"
#include "coordinators/parallel/parallel_plan.hpp"
#include "data/formats/csv/csv_options.hpp"
#include "data/text/failure.hpp"
#include "data/training_rows/prepare.hpp"

#include <functional>
#include <memory>

namespace troupe {

struct saved_model; // data/model_file/saved_model.hpp

/// Reads or makes the job's data. Calls `stop_requested`, if there is one, between parts of the data, and a few times a
/// second while it waits for a pipe.
///
/// Throws failure: bad_job with all of `problems(x)`, missing_input and bad_data as the readers do;
/// interrupted when `stop_requested` returned true.
std::shared_ptr<const prepared_data> load_data(const job& x,
                                               std::function<bool()> stop_requested = {});

/// The same for a data set an application has in memory; `job.data` decides split and
/// standardisation only. Throws failure: bad_job, naming the key, for a key about reading files; bad_data, naming row
/// and column, for inconsistent rows (data/table/dataset.hpp). `start`: a model in memory to begin from, in place of the
/// file that `model.start_from` names; null: none.
std::shared_ptr<const prepared_data> prepare_data(const job& x, dataset source,
                                                  const saved_model* start = nullptr);

/// The form of cells in the job's file.
csv_dialect dialect_of(const cell_options& x);

/// The sizes that `resolve` needs.
data_shape shape_of(const prepared_data& data);

/// Throws failure(bad_job), naming the key, when a resolved job cannot be trained on its data, or needs more memory
/// than there is (parallel_plan.hpp).
void require_trainable(const job& resolved, const prepared_data& data, const run_place& where = {});

/// Threads of a job in one process: as given, else as many as the job can use.
size_t threads_of(const job& x, const data_shape& shape);

/// The same failure; for lack of memory with the numbers of the plan.
failure with_plan(const failure& error, const job& resolved, const data_shape& shape,
                  const run_place& where = {});

} // namespace troupe
