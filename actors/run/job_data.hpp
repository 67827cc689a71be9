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

/// Reads or makes the job's data. `stop_requested`, if there is one, is asked between pieces of it,
/// and a few times a second while a pipe is silent.
///
/// Throws failure: bad_job with all of `problems(x)`, missing_input and bad_data as the readers do;
/// interrupted when it was asked to stop.
std::shared_ptr<const prepared_data> load_data(const job& x,
                                               std::function<bool()> stop_requested = {});

/// The same for a data set an application has in memory; `job.data` decides split and
/// standardisation only. Throws failure: bad_job, naming the key, for one that says how a file is read; bad_data,
/// naming row and column, for rows that do not hold together (data/table/dataset.hpp).
std::shared_ptr<const prepared_data> prepare_data(const job& x, dataset source);

/// How cells of the job's file are written.
csv_dialect dialect_of(const cell_options& x);

/// What `resolve` needs to know of it.
data_shape shape_of(const prepared_data& data);

/// Throws failure(bad_job), naming the key, when a resolved job cannot be trained on its data, or
/// not with the memory that there is where it is to be (parallel_plan.hpp).
void require_trainable(const job& resolved, const prepared_data& data, const run_place& where = {});

/// Threads of a job in one process: as given, else as many as it has use of.
size_t threads_of(const job& x, const data_shape& shape);

/// The same failure; one for want of memory says what the plan counts on.
failure with_plan(const failure& error, const job& resolved, const data_shape& shape,
                  const run_place& where = {});

} // namespace troupe
