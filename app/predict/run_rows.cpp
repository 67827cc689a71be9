#include "app/predict/run_rows.hpp"

#include "actors/run/job_data.hpp"
#include "actors/run/private_run.hpp"
#include "app/job/job_file.hpp"
#include "coordinators/job/private_job.hpp"
#include "data/run_folder/run_directory.hpp"
#include "data/text/failure.hpp"
#include "data/training_rows/row_source.hpp"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

namespace troupe {

namespace {

std::string in_folder(const std::string& folder, std::string_view name) {
  return (std::filesystem::path{folder} / name).string();
}

std::string text_of(const std::string& path) {
  std::ifstream in{path, std::ios::binary};
  return {std::istreambuf_iterator<char>{in}, {}};
}

std::shared_ptr<const prepared_data> data_of(const loaded_job& loaded) {
  auto as_read = loaded.value;
  as_read.data.standardize = false; // the model does that itself
  try {
    return load_data(as_read);
  } catch (const failure& error) {
    throw_with_place(error, loaded);
  }
}

// Rows that stay in a file, read.
dataset in_memory(const row_source& source, dataset names) {
  batch_reader reader;
  const auto rows = source.range(0, source.row_count(), reader);
  names.features.assign(rows.features.begin(), rows.features.end());
  names.labels.assign(rows.labels.begin(), rows.labels.end());
  names.targets.assign(rows.targets.begin(), rows.targets.end());
  return names;
}

} // namespace

std::string run_folder_of(const std::string& model_path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(model_path, ignored))
    return model_path;
  const auto folder = std::filesystem::path{model_path}.parent_path();
  return folder.empty() ? "." : folder.string();
}

run_rows rows_of_run(const std::string& folder, run_part part) {
  const auto job_path = in_folder(folder, job_file_name);
  std::error_code ignored;
  if (!std::filesystem::exists(job_path, ignored))
    throw failure(failure_code::usage, "there is no run, and so no rows of its own", folder,
                  "add a data file to evaluate on, or name the folder of a run");
  const auto loaded = load_job_and_places(job_path, {}, {});
  auto data = *data_of(loaded);
  const auto identity = text_of(in_folder(folder, identity_file_name));
  if (is_private(loaded.value) && !std::filesystem::exists(loaded.value.privacy.key_file, ignored))
    throw failure(failure_code::missing_input, "a private run's data are known by its key alone",
                  loaded.value.privacy.key_file, "name a data file to evaluate on");
  const auto fingerprint = fingerprint_in(with_key(loaded.value), data);
  if (identity.find("data.fingerprint = " + fingerprint + '\n') == std::string::npos)
    throw failure(failure_code::mismatch, "the data are not those that the run was trained on",
                  loaded.value.data.file, "name a data file to evaluate on");
  auto& rows = part == run_part::train  ? data.train
               : part == run_part::test ? data.test
                                        : data.validation;
  if (rows.row_count == 0)
    throw failure(failure_code::usage,
                  "the run kept no rows for " +
                    std::string{part == run_part::validation ? "validation" : "testing"},
                  folder, "add a data file, or choose other rows: --rows train");
  if (data.stays_in_file() && rows.features.empty()) {
    const auto& source = part == run_part::train  ? *data.stored.train
                         : part == run_part::test ? *data.stored.test
                                                  : *data.stored.validation;
    rows = in_memory(source, std::move(rows));
  }
  return {std::move(rows), loaded.value.data.file};
}

} // namespace troupe
