#include "actors/run/job_data.hpp"

#include "coordinators/job/job_check.hpp"
#include "coordinators/job/training_modes.hpp"
#include "data/formats/read_data.hpp"
#include "data/model_file/start_model.hpp"
#include "data/rows_file/row_supply.hpp"
#include "data/rows_file/rows_file.hpp"
#include "data/source/text_source.hpp"
#include "data/text/checksum.hpp"
#include "data/text/shown_text.hpp"
#include "data/training_rows/client_partition.hpp"
#include "data/training_rows/holdings.hpp"
#include "data/training_rows/stored_source.hpp"
#include "data/training_rows/stream_source.hpp"
#include "data/training_rows/synthetic.hpp"

#include <iterator>
#include <optional>
#include <span>
#include <utility>

namespace troupe {

namespace {

void require_no_problems(const std::vector<job_problem>& found) {
  if (found.empty())
    return;
  std::string text;
  for (const auto& problem : found)
    text += (text.empty() ? "" : "\n") + problem.key + ": " + problem.why + "; " + problem.hint;
  throw failure(failure_code::bad_job, text);
}

bool is_of(file_format format, const data_options& x, const std::string& path) {
  return (x.format == file_format::by_name ? format_of(path) : x.format) == format;
}

bool is_rows_file(const data_options& x, const std::string& path) {
  return is_of(file_format::rows, x, path);
}

/// Called when the file's name or first bytes have decided its format: only then can these keys be checked.
void require_libsvm(const data_options& x, const std::string& path) {
  const bool asks = x.dense == row_form::sparse || x.hash_bits;
  if (asks && x.format == file_format::by_name && format_of(path) != file_format::libsvm)
    throw failure(failure_code::bad_job, shown_text(path) + " is no libsvm file",
                  x.hash_bits ? "data.hash_bits" : "data.dense",
                  "leave it out, or say what the file is: data.format = \"libsvm\"");
}

read_options reading_of(const job& whole) {
  const auto& x = whole.data;
  read_options options;
  static_cast<column_options&>(options) = x;
  options.dialect = dialect_of(x.cells);
  options.format = x.format;
  options.libsvm.index_base = x.index_base;
  options.libsvm.hash_bits = x.hash_bits.value_or(0);
  const bool decides = x.dense == row_form::by_content && needs_dense_rows(whole);
  options.libsvm.form = decides ? row_form::dense : x.dense;
  static_cast<window_options&>(options.text) = x.text;
  if (whole.federated.partition == partition_kind::column)
    options.client = whole.federated.clients_from;
  return options;
}

/// `train`: the rows of the job's other file, how rows are known to be read, or nothing.
read_options reading_by(const job& x, const std::string& path, const dataset& train) {
  auto options = reading_of(x);
  options.plan = train.columns;
  const bool is_agreed = x.data.at_nodes || !x.data.holdings.empty() || !x.data.table.empty();
  if (is_agreed && is_of(file_format::csv, x.data, path))
    options.features = train.feature_names;
  options.text.vocabulary = train.classes;
  return options;
}

table read_table(const job& x, const std::string& path, const std::string& labels_file,
                 const dataset& train) {
  require_libsvm(x.data, path);
  auto options = reading_by(x, path, train);
  options.labels_file = labels_file;
  return read_data(path, options);
}

/// What the model and its loss want of the target column, unless `train` (see read_table) decides it.
target_use use_of(const job& x, const dataset& train = {}) {
  const auto& options = x.model;
  const bool is_known = train.is_classification() || train.target_count > 0;
  if (train.row_count > 0 || is_known)
    return train.is_classification() ? target_use::known_labels : target_use::numbers;
  if (const auto classes = wants_classes(options))
    return *classes ? target_use::labels : target_use::numbers;
  return target_use::by_content;
}

/// The job's first key about columns of a CSV file, or null.
const char* column_key_of(const data_options& x) {
  const auto* reading = key_of_readings(x);
  return !x.ignore.empty()     ? "data.ignore"
         : reading             ? reading
         : !x.weight.empty()   ? "data.weight"
         : !x.split_by.empty() ? "data.split_by"
         : x.has_plan()        ? "data.missing"
                               : nullptr;
}

/// Refuses keys about columns for a file of rows, whose columns are chosen already.
void require_no_choice(const data_options& x, const std::string& path) {
  if (const auto* key = column_key_of(x))
    throw failure(failure_code::bad_job,
                  shown_text(path) + " is a file of rows, whose columns are numbers", key,
                  "leave it out, or train on the CSV file");
}

/// The job's first key about how to read a file, or null.
const char* reading_key_of(const data_options& x) {
  const data_options plain;
  return !x.holdings.empty()                            ? "data.holdings"
         : !x.test_file.empty()                         ? "data.test_file"
         : !x.validation_file.empty()                   ? "data.validation_file"
         : !x.labels_file.empty()                       ? "data.labels_file"
         : x.format != plain.format                     ? "data.format"
         : x.header != plain.header                     ? "data.header"
         : x.target != plain.target                     ? "data.target"
         : x.index_base != plain.index_base             ? "data.index_base"
         : x.hash_bits                                  ? "data.hash_bits"
         : x.cells.separator != plain.cells.separator   ? "data.separator"
         : x.cells.quote != plain.cells.quote           ? "data.quote"
         : x.cells.decimal != plain.cells.decimal       ? "data.decimal"
         : x.cells.comment != plain.cells.comment       ? "data.comment"
         : x.cells.skip_lines != plain.cells.skip_lines ? "data.skip_lines"
                                                        : column_key_of(x);
}

/// Refuses keys about files when the application hands over rows.
void require_rows_alone(const data_options& x) {
  if (const auto* key = reading_key_of(x))
    throw failure(failure_code::bad_job, "the rows are in memory, and no file is read", key,
                  "leave it out, and hand over the rows as they are to be");
}

/// All rows of one of the job's files; `train`: those of its other one, or none.
dataset read_file(const job& x, const std::string& path, const std::string& labels_file,
                  const dataset& train = {}) {
  if (is_rows_file(x.data, path)) {
    require_no_choice(x.data, path);
    return read_rows(rows_file{path});
  }
  return to_dataset(read_table(x, path, labels_file, train), use_of(x, train));
}

/// The rows to train on, and those split off from them.
dataset read_rows_of(const job& x, const dataset& known) {
  if (x.federated.partition == partition_kind::files) {
    const auto& pattern = x.federated.clients_from;
    const auto options = reading_by(x, matching_files(pattern).front(), known);
    return to_dataset(read_client_files(pattern, options), use_of(x, known));
  }
  return read_file(x, x.data.file, x.data.labels_file, known);
}

prepare_options preparing_of(const job& x, const known_reading& known, size_t chunk_rows) {
  prepare_options result{x.seed, x.data, x.data.standardize, chunk_rows, target_scale_of(x)};
  known.apply(result);
  return result;
}

/// The rows of a holding's file, by a table that is known, or, of no columns, by what is in them.
dataset read_holding(const job& x, const std::string& path, const dataset& table,
                     const known_reading& known) {
  dataset rows;
  if (is_rows_file(x.data, path)) {
    require_no_choice(x.data, path);
    rows = by_form(read_rows(rows_file{path}), table);
  } else {
    require_libsvm(x.data, path);
    auto options = reading_of(x);
    options.plan = table.columns;
    if (is_of(file_format::csv, x.data, path))
      options.features = table.feature_names;
    const bool classes = wants_classes(x.model).value_or(true);
    rows = to_dataset(read_data(path, options),
                      classes ? target_use::known_labels : target_use::numbers);
  }
  known.fit(rows);
  reading_stop::check();
  return rows;
}

/// All holdings, prepared by one table that they agree on; `read_again` gives the rows of one as the table has them.
template <class ReadAgain>
prepared_data prepare_all(const job& x, std::vector<holding> holdings, const known_reading& known,
                          ReadAgain read_again) {
  for (auto& one : holdings)
    one.fingerprint = content_fingerprint(one.rows);
  auto remarks = sort_holdings(holdings);
  const auto table = agreed_table(holdings, x.data.categories_max);
  const auto options = preparing_of(x, known, 0);
  prepared_data result;
  if (holdings.size() == 1) {
    result = prepare(std::move(holdings.front().rows), options);
  } else {
    for (auto& one : holdings)
      if (differs(one.rows, table)) {
        one.rows = read_again(one, table);
        require_form(one.rows, table, one.name);
      }
    result = prepare_holdings(std::move(holdings), table, options);
  }
  std::ranges::move(remarks, std::back_inserter(result.remarks));
  return result;
}

prepared_data load_holdings(const job& x, const known_reading& known) {
  std::vector<holding> holdings;
  for (auto& file : matching_files(x.data.holdings)) {
    auto rows = read_holding(x, file, known.form(), known);
    holdings.push_back({std::move(file), std::move(rows), {}});
  }
  return prepare_all(x, std::move(holdings), known, [&](const holding& one, const dataset& table) {
    return read_holding(x, one.name, table, known);
  });
}

dataset make_synthetic(const job& x) {
  return x.data.synthetic == synthetic_kind::classification ? make_classification(x.data, x.seed)
                                                            : make_regression(x.data, x.seed);
}

prepared_data prepare_in_memory(const job& x, dataset source, const known_reading& known) {
  size_t chunk_rows = 0;
  if (x.data.shuffle == shuffle_kind::lanes)
    chunk_rows = x.data.lanes.chunk_rows.value_or(
      default_chunk_rows(source.row_count, source.feature_count * sizeof(float)));
  known.fit(source);
  return prepare(std::move(source), preparing_of(x, known, chunk_rows));
}

/// What the job's rows are known by, and what its model begins from.
struct known_rows {
  std::optional<start_model> start;
  known_reading reading;
  std::string table_sha256; ///< of the job's table; empty: it has none
};

/// `from`: a model in memory to begin from; null: what the job names.
known_rows known_to(const job& x, const saved_model* from = nullptr) {
  known_rows result;
  if (from)
    result.start.emplace(*from, x.model);
  else if (!x.model.start_from.empty())
    result.start.emplace(x.model);
  if (!x.data.table.empty() && result.start)
    throw failure(failure_code::bad_job, "the model to start from says how rows are read",
                  "data.table", "leave it out");
  if (result.start) {
    result.reading = result.start->reading();
  } else if (!x.data.table.empty()) {
    result.reading = read_table_file(x.data.table);
    result.table_sha256 = result.reading.sha256();
  }
  return result;
}

/// Says what of the job does not count, and makes what is known part of the data.
void add_known(const known_rows& known, const job& x, prepared_data& data) {
  const auto& reading = known.reading;
  const auto does_not_count = [&](const char* key, const char* what) {
    data.remarks.push_back(std::string{key} + " does not count: " + what + " are scaled as " +
                           reading.what() + " has them");
  };
  const bool scales = preparing_of(x, reading, 0).standardizes();
  if (reading.knows_features() && scales != x.data.standardize && (known.start || !scales))
    does_not_count("data.standardize", "features");
  if (!reading.what().empty() && x.data.target_scale && data.scale.kind != *x.data.target_scale)
    does_not_count("data.target_scale", "targets");
  if (known.start) {
    const auto shape = shape_of(data);
    const auto resolved = resolve(x, shape, 1);
    if (problems_with_data(resolved, shape)
          .empty()) // else `require_trainable` refuses this job later
      data.start = known.start->values_for(*make_model(resolved, shape), data, x.seed);
  } else if (!known.table_sha256.empty()) {
    const auto both = data.fingerprint + known.table_sha256;
    data.fingerprint = sha256_hex(std::as_bytes(std::span{both}));
  }
}

void require_chunks(const job& x, const rows_file& file) {
  const auto there = file.header().chunk_rows;
  if (x.data.lanes.chunk_rows.value_or(there) != there)
    throw failure(failure_code::bad_job,
                  "the file's chunks have " + std::to_string(there) + " rows", "data.chunk_rows",
                  "leave it out, or make the file anew: troupe data convert --chunk-rows " +
                    std::to_string(*x.data.lanes.chunk_rows));
}

} // namespace

namespace {

std::shared_ptr<const prepared_data> load_known(const job& x, const known_rows& known_to_job,
                                                const row_agreement& agree = {}) {
  const bool by_lanes = x.data.shuffle == shuffle_kind::lanes;
  const bool synthetic = x.data.synthetic != synthetic_kind::none;
  const auto& known = known_to_job.reading;
  prepared_data result;
  if (x.data.at_nodes && !agree)
    throw failure(failure_code::bad_job, "the rows are those that the nodes of a cluster have",
                  "data.at_nodes", "train it in a cluster: troupe launch, or troupe node");
  if (agree) {
    own_rows own{{}, x.data.file, x.data.categories_max, preparing_of(x, known, 0)};
    if (!x.data.file.empty())
      own.read = [&](const dataset& form) {
        return read_holding(x, x.data.file, form.feature_count == 0 ? known.form() : form, known);
      };
    result = agree(own);
  } else if (x.federated.has_port()) {
    result.train = known.form();
    result.features = known.learned().features;
    result.scale = known.learned().targets;
    result.fingerprint = known.sha256();
  } else if (!x.data.holdings.empty()) {
    result = load_holdings(x, known);
  } else if (!synthetic && by_lanes && is_rows_file(x.data, x.data.file)) {
    require_no_choice(x.data, x.data.file);
    const auto file = std::make_shared<const rows_file>(x.data.file);
    require_chunks(x, *file);
    known.require_same(names_of(file->header()));
    result = prepare_stored(file, preparing_of(x, known, 0));
  } else {
    auto source = synthetic ? make_synthetic(x) : read_rows_of(x, known.form());
    reading_stop::check();
    result = prepare_in_memory(x, std::move(source), known);
  }
  reading_stop::check();
  for (const auto& [part, path] : {std::pair{row_part::test, x.data.test_file},
                                   std::pair{row_part::validation, x.data.validation_file}})
    if (!path.empty())
      add_given_rows(part, read_file(x, path, {}, result.train), path, result);
  add_known(known_to_job, x, result);
  return std::make_shared<const prepared_data>(std::move(result));
}

} // namespace

std::shared_ptr<const prepared_data> load_data(const job& x, std::function<bool()> stop_requested,
                                               const row_agreement& agree) {
  require_no_problems(problems(x));
  const reading_stop stop{std::move(stop_requested)};
  return load_known(x, known_to(x), agree);
}

namespace {

/// A client's job: the name of a table alone says that its rows have the table's columns.
job with_table(const job& x) {
  auto result = x;
  result.data.table = "the server's table";
  require_no_problems(problems(result));
  return result;
}

known_rows known_to_server(const job& own, const std::string& reading) {
  known_rows result;
  result.reading = known_reading{troupe::reading_of(reading, own.data.table), own.data.table};
  result.table_sha256 = result.reading.sha256();
  return result;
}

/// Says of rows that `read` does not take what to do.
template <class Read>
auto read_by_table(const job& x, Read read) {
  try {
    return read();
  } catch (const failure& error) {
    if (!error.where().empty())
      throw;
    throw failure(error.code(), error.reason(), x.data.file,
                  "the server reads rows by its table: give rows of its columns and classes");
  }
}

} // namespace

std::shared_ptr<const prepared_data> load_client_rows(const job& x, const std::string& reading) {
  const auto own = with_table(x);
  const auto known = known_to_server(own, reading);
  return read_by_table(x, [&] { return load_known(own, known); });
}

std::string reading_for_clients(const prepared_data& data) {
  return reading_text({data.train, {data.train.columns.fill, data.features, data.scale}});
}

std::shared_ptr<const prepared_data> load_unscaled(const job& x) {
  require_no_problems(problems(x));
  auto unscaled = x;
  unscaled.data.standardize = false;
  auto known = known_to(x);
  known.reading.leave_features_unscaled();
  return load_known(unscaled, known);
}

namespace {

/// Rows with their columns as the form has them, or, of no columns, as they are known.
dataset by_known_form(dataset rows, const dataset& form, const known_reading& known) {
  auto result = by_form(std::move(rows), form.feature_count == 0 ? known.form() : form);
  known.fit(result);
  return result;
}

/// Rows of an application, which `prepare` makes ready, with what the model begins from.
template <class Prepare>
std::shared_ptr<const prepared_data> prepare_given(const job& x, const saved_model* from,
                                                   Prepare prepare) {
  require_rows_alone(x.data);
  const auto known = known_to(x, from);
  prepared_data result = prepare(known.reading);
  add_known(known, x, result);
  return std::make_shared<const prepared_data>(std::move(result));
}

} // namespace

std::shared_ptr<const prepared_data>
load_client_rows(const job& x, const std::string& reading,
                 const std::function<dataset(const dataset& form)>& make) {
  const auto own = with_table(x);
  const auto known = known_to_server(own, reading);
  const auto& form = known.reading.form();
  auto rows = make(form);
  return read_by_table(x, [&] {
    if (rows.feature_count != form.feature_count)
      throw failure(failure_code::bad_data, "the rows have " + std::to_string(rows.feature_count) +
                                              " features, and the server's " +
                                              std::to_string(form.feature_count));
    if (rows.columns != column_plan{} && rows.columns != form.columns)
      throw failure(failure_code::bad_data, "the rows' cells were made features in another way");
    rows.columns = form.columns;
    require_sound(rows);
    auto result =
      prepare_in_memory(own, by_known_form(std::move(rows), {}, known.reading), known.reading);
    add_known(known, own, result);
    return std::make_shared<const prepared_data>(std::move(result));
  });
}

std::shared_ptr<const prepared_data> prepare_data(const job& x, dataset source,
                                                  const saved_model* from) {
  return prepare_given(x, from, [&](const known_reading& known) {
    return prepare_in_memory(x, std::move(source), known);
  });
}

namespace {

/// Refuses what rows that come but once cannot be used for.
void require_no_end(const job& x) {
  const auto refuse = [](bool is_set, const char* key, const char* why, const char* hint) {
    if (is_set)
      throw failure(failure_code::bad_job, why, key, hint);
  };
  refuse(x.data.test_fraction > 0, "data.test_fraction", "rows without an end are all trained on",
         "leave it out, and hand over rows for testing");
  refuse(x.data.validation_fraction > 0, "data.validation_fraction",
         "rows without an end are all trained on",
         "leave it out, and hand over rows for validation");
  refuse(x.data.shuffle == shuffle_kind::lanes, "data.shuffle",
         "rows without an end come in their order", "leave it out");
  refuse(finds_own_rate(x.optimizer.kind), "optimizer.kind",
         "looks at all rows, and these have no end", "use sgd or adam");
  refuse(x.training.strategy == strategy_kind::federated, "training.strategy",
         "clients have rows that they train on again, and these come once", "leave it out");
}

prepared_data prepare_supplied(const job& x, std::shared_ptr<const row_supply> rows,
                               const known_reading& known) {
  const bool by_lanes = x.data.shuffle == shuffle_kind::lanes;
  if (rows->is_endless())
    require_no_end(x);
  const auto all = std::make_shared<const supplied_rows>(
    std::move(rows), by_lanes ? x.data.lanes.chunk_rows : std::nullopt);
  if (by_lanes || all->is_endless())
    known.require_same(names_of(all->header()));
  const auto options = preparing_of(x, known, 0);
  return all->is_endless() ? prepare_stream(all, options)
         : by_lanes        ? prepare_stored(all, options)
                           : prepare_in_memory(x, read_rows(*all), known);
}

} // namespace

std::shared_ptr<const prepared_data>
prepare_data(const job& x, std::shared_ptr<const row_supply> rows, const supply_options& options) {
  return prepare_given(x, options.start, [&](const known_reading& known) {
    auto result = prepare_supplied(x, std::move(rows), known);
    const auto add = [&](row_part part, const std::optional<dataset>& given, double fraction,
                         const std::string& key) {
      if (given && fraction > 0)
        throw failure(failure_code::bad_job, "such rows are handed over, too", key,
                      "keep one of the two");
      if (given)
        add_given_rows(part, *given, "the rows in place of " + key, result);
    };
    add(row_part::test, options.test, x.data.test_fraction, "data.test_fraction");
    add(row_part::validation, options.validation, x.data.validation_fraction,
        "data.validation_fraction");
    return result;
  });
}

std::shared_ptr<const prepared_data> prepare_own_holdings(const job& x, std::vector<dataset> rows,
                                                          const saved_model* from) {
  auto checked = x;
  checked.data.holdings = "the application's rows";
  require_no_problems(problems(checked));
  return prepare_given(x, from, [&](const known_reading& known) {
    std::vector<holding> holdings;
    for (auto& some : rows) {
      require_sound(some);
      holdings.push_back({"holding " + std::to_string(holdings.size()),
                          by_known_form(std::move(some), {}, known),
                          {}});
    }
    return prepare_all(x, std::move(holdings), known, [&](holding& one, const dataset& table) {
      return by_known_form(std::move(one.rows), table, known);
    });
  });
}

std::shared_ptr<const prepared_data>
prepare_own_rows(const job& x, const std::optional<dataset>& rows, const row_agreement& agree) {
  require_no_problems(problems(x));
  return prepare_given(x, nullptr, [&](const known_reading& known) {
    own_rows own{{}, "the rows of this process", x.data.categories_max, preparing_of(x, known, 0)};
    if (rows) {
      require_sound(*rows);
      own.read = [&](const dataset& form) { return by_known_form(*rows, form, known); };
    }
    return agree(own);
  });
}

csv_dialect dialect_of(const cell_options& x) {
  return {x.separator[0], x.quote[0], x.decimal[0], x.comment[0], x.skip_lines}; // of none: 0
}

} // namespace troupe
