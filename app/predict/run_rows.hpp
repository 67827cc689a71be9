// The rows that a finished run kept aside: its folder says which data it read and how they were
// split, so that a model can be judged by rows it has never seen.

#pragma once

#include "data/table/dataset.hpp"
#include "models/base/names.hpp"

#include <cstdint>
#include <string>

namespace troupe {

enum class run_part : uint8_t { train, validation, test };

template <>
struct name_table<run_part> {
  static constexpr std::array entries{named(run_part::train, "train"),
                                      named(run_part::validation, "validation"),
                                      named(run_part::test, "test")};
};

struct run_rows {
  dataset rows;     ///< as read: not standardised
  std::string data; ///< the file they come from; empty: synthetic
};

/// The folder of the run that a model's path names: the path itself if it is a folder, else the one
/// around it.
std::string run_folder_of(const std::string& model_path);

/// Reads the data of the run in `folder` once more and gives one part. Throws failure: usage when
/// there is no run, or it has no such rows; mismatch when the data are others than those it was
/// trained on; what reading job and data throws.
run_rows rows_of_run(const std::string& folder, run_part part);

} // namespace troupe
