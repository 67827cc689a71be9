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
#include <optional>

namespace troupe {

struct saved_model; // data/model_file/saved_model.hpp
class row_supply;   // data/rows_file/row_supply.hpp

/// The rows of this process's own, before all that have some agree on a table (data/training_rows/row_table.hpp).
struct own_rows {
  /// Reads them by the form that is agreed on, or, of no columns, by what is in them; null: there are none here.
  std::function<dataset(const dataset& form)> read;
  std::string name; ///< for people: the file's path
  size_t categories_max = 1000;
  prepare_options prepare;
};
using row_agreement = std::function<prepared_data(const own_rows&)>;

/// Reads or makes the job's data; where nodes have rows of their own (`data.at_nodes`), those that `agree` comes to. Calls `stop_requested`, if there is one, between parts of the data, and a few times a
/// second while it waits for a pipe.
///
/// Throws failure: bad_job with all of `problems(x)`, missing_input and bad_data as the readers do;
/// interrupted when `stop_requested` returned true.
std::shared_ptr<const prepared_data>
load_data(const job& x, std::function<bool()> stop_requested = {}, const row_agreement& agree = {});

/// The rows of a client of a federated run, which the job names, as the server reads and scales rows (`reading_text` of
/// data/training_rows/row_table.hpp). Throws failure as load_data does; bad_data for a text that is none.
std::shared_ptr<const prepared_data> load_client_rows(const job& x, const std::string& reading);

/// The same of rows that an application has; `make` gives them once it knows the table's form. Columns come in any order,
/// by their names.
std::shared_ptr<const prepared_data>
load_client_rows(const job& x, const std::string& reading,
                 const std::function<dataset(const dataset& form)>& make);

/// The text for clients: how the rows of this data are read.
std::string reading_for_clients(const prepared_data& data);

/// The same with features as they are read, whatever scales them in training: a model file's own scale does that.
std::shared_ptr<const prepared_data> load_unscaled(const job& x);

/// The same as `load_data` for a data set an application has in memory; `job.data` decides split and
/// standardisation only. Throws failure: bad_job, naming the key, for a key about reading files; bad_data, naming row
/// and column, for inconsistent rows (data/table/dataset.hpp). `start`: a model in memory to begin from, in place of the
/// file that `model.start_from` names; null: none.
std::shared_ptr<const prepared_data> prepare_data(const job& x, dataset source,
                                                  const saved_model* start = nullptr);

/// Rows beside those that an application gives part by part.
struct supply_options {
  std::optional<dataset> test,
    validation; ///< of the same columns, in place of some of the supply's
  const saved_model* start = nullptr;
};

/// The same for rows that an application gives part by part. With `data.shuffle = "lanes"` windows of them are in memory
/// at a time; of rows without an end those of a step; else all. Throws what supplied_rows throws
/// (data/rows_file/row_supply.hpp).
std::shared_ptr<const prepared_data> prepare_data(const job& x,
                                                  std::shared_ptr<const row_supply> rows,
                                                  const supply_options& options = {});

/// The same for rows in several holdings, at least one: each is split and judged by itself, and trained on in proportion.
/// They may lack classes, and have their columns in any order, by `feature_names`. The trained bits are those of a cluster
/// in which each is a process's own (`take_part_options::rows`). Throws failure(bad_data), naming "holding 2" from 0 on.
std::shared_ptr<const prepared_data> prepare_own_holdings(const job& x, std::vector<dataset> rows,
                                                          const saved_model* start = nullptr);

/// The same for a process of which the application has the rows, or has none, in a cluster where nodes have rows of their
/// own: they agree on a table with those of the others.
std::shared_ptr<const prepared_data>
prepare_own_rows(const job& x, const std::optional<dataset>& rows, const row_agreement& agree);

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
