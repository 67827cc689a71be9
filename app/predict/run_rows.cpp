#include "app/predict/run_rows.hpp"

#include "actors/run/job_data.hpp"
#include "actors/run/private_run.hpp"
#include "app/run/training_run.hpp"
#include "coordinators/job/private_job.hpp"
#include "data/run_folder/run_directory.hpp"
#include "data/text/failure.hpp"
#include "data/training_rows/batch_reader.hpp"
#include "data/training_rows/row_source.hpp"
#include "models/base/names.hpp"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string_view>
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
  try {
    return load_unscaled(loaded.value);
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

struct run_data {
  data_options options;
  prepared_data rows; ///< those of the part are there
};

run_data data_of_run(const std::string& folder, row_part part) {
  const auto job_path = in_folder(folder, job_file_name);
  std::error_code ignored;
  if (!std::filesystem::exists(job_path, ignored))
    throw failure(failure_code::usage, "there is no run, and so no rows of its own", folder,
                  "add a data file, or name the folder of a run");
  const auto loaded = load_job_and_places(job_path, {}, {});
  auto data = *data_of(loaded);
  const auto identity = text_of(in_folder(folder, identity_file_name));
  if (is_private(loaded.value) && !std::filesystem::exists(loaded.value.privacy.key_file, ignored))
    throw failure(failure_code::missing_input, "a private run's data are known by its key alone",
                  loaded.value.privacy.key_file, "name a data file");
  const auto fingerprint = fingerprint_in(with_key(loaded.value), data);
  if (identity.find("data.fingerprint = " + fingerprint + '\n') == std::string::npos)
    throw failure(failure_code::mismatch, "the data are not those that the run was trained on",
                  loaded.value.data.file, "name a data file");
  const auto& rows = part == row_part::train  ? data.train
                     : part == row_part::test ? data.test
                                              : data.validation;
  if (rows.row_count == 0)
    throw failure(failure_code::usage,
                  "the run kept no rows for " +
                    std::string{part == row_part::validation ? "validation" : "testing"},
                  folder, "add a data file, or choose other rows: --rows train");
  return {loaded.value.data, std::move(data)};
}

} // namespace

std::string run_folder_of(const std::string& model_path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(model_path, ignored))
    return model_path;
  const auto folder = std::filesystem::path{model_path}.parent_path();
  return folder.empty() ? "." : folder.string();
}

std::string model_path_of(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_directory(path, ignored) ? in_folder(path, model_file_name) : path;
}

row_part part_option(const std::string& rows) {
  if (const auto part = from_name<row_part>(rows))
    return *part;
  throw failure(failure_code::usage, "there are no rows called '" + rows + "'", "--rows",
                "use one of: " + all_names<row_part>());
}

void refuse_data_options(const data_arguments& x) {
  if (!x.target.empty() || !x.labels_file.empty() || x.format != "auto" || x.header != "auto" ||
      x.index_base)
    throw failure(failure_code::usage, "the run's own job says what its data file is", {},
                  "leave the options out, or name a data file");
}

run_rows rows_of_run(const std::string& folder, row_part part) {
  auto [options, data] = data_of_run(folder, part);
  auto& rows = part == row_part::train  ? data.train
               : part == row_part::test ? data.test
                                        : data.validation;
  const auto& source = part == row_part::train  ? data.stored.train
                       : part == row_part::test ? data.stored.test
                                                : data.stored.validation;
  if (data.stays_in_file() && rows.features.empty())
    rows = in_memory(*source, std::move(rows));
  return {std::move(rows), options.file.empty() ? options.holdings : options.file};
}

rows_in_file file_of_run(const std::string& folder, row_part part) {
  const auto [x, data] = data_of_run(folder, part);
  rows_in_file result;
  result.data.file = x.file;
  if (x.file.empty() || !data.part_of || x.format == file_format::text)
    throw failure(failure_code::usage, "the run's rows are in no file of their own", folder,
                  "name a data file");
  const auto& own = part == row_part::test ? x.test_file : x.validation_file;
  if (part != row_part::train && !own.empty()) {
    result.data.file = own;
    result.are_of_part = [](size_t) { return true; };
    result.row_count = (part == row_part::test ? data.test : data.validation).row_count;
  } else {
    result.are_of_part = [part, of = data.part_of](size_t row) { return of(row) == part; };
    result.data.labels_file = x.labels_file;
    result.row_count = data.train.row_count;
    for (const auto& [rows, file] :
         {std::pair{&data.test, &x.test_file}, std::pair{&data.validation, &x.validation_file}})
      result.row_count += file->empty() ? rows->row_count : 0;
  }
  if (x.format != file_format::by_name)
    result.data.format = name_of(x.format);
  if (x.header != csv_header::automatic)
    result.data.header = name_of(x.header);
  return result;
}

} // namespace troupe
