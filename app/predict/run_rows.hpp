// The rows that a finished run kept aside. Its folder says which data it read and how they were
// split, so a model can be judged by rows it has never seen.

#pragma once

#include "app/commands/commands.hpp"
#include "app/job/job_file.hpp"
#include "data/table/dataset.hpp"
#include "data/training_rows/part_choice.hpp"
#include "data/training_rows/prepare.hpp"

#include <cstddef>
#include <functional>
#include <string>

namespace troupe {

/// The folder of the run that a model's path names: the path itself if it is a folder, else the one
/// around it.
std::string run_folder_of(const std::string& model_path);

/// The model of a run's folder; another path is a model's own.
std::string model_path_of(const std::string& path);

/// Which rows `--rows` names. Throws failure(usage) for a part that does not exist.
row_part part_option(const std::string& rows);

/// Throws failure(usage) for an option about a data file: the run's own job says what its file is.
void refuse_data_options(const data_arguments& x);

/// Of one part.
struct run_rows {
  dataset rows;     ///< as read: not standardised
  std::string data; ///< the file they come from; empty: synthetic
};

/// Reads the data of the run in `folder` once more and gives one part. Throws failure: usage
/// without a run or such rows; mismatch when the run trained on other data; what reading job and
/// data throws.
run_rows rows_of_run(const std::string& folder, row_part part);

/// The same rows as they stand in their file.
struct rows_in_file {
  size_t row_count = 0; ///< of the file, without those that training dropped
  data_arguments data;  ///< to open it with
  std::function<bool(size_t row)>
    are_of_part; ///< of rows that training did not drop, counted from 0, by rising numbers
};

/// Throws what `rows_of_run` throws, and failure(usage) for rows that are in no file of their own.
rows_in_file file_of_run(const std::string& folder, row_part part);

} // namespace troupe
