#include "actors/run/job_data.hpp"
#include "app/commands/commands.hpp"
#include "app/job/job_file.hpp"
#include "app/predict/model_rows.hpp"
#include "app/run/training_run.hpp"
#include "app/terminal/figures_text.hpp"
#include "app/terminal/output.hpp"
#include "app/terminal/progress.hpp"
#include "data/disk/atomic_file.hpp"
#include "data/formats/arrays/read_array.hpp"
#include "data/formats/csv/csv_reader.hpp"
#include "data/formats/read_data.hpp"
#include "data/rows_file/convert_rows.hpp"
#include "data/rows_file/rows_file.hpp"
#include "data/rows_file/rows_writer.hpp"
#include "data/text/failure.hpp"
#include "data/text/shown_text.hpp"
#include "data/training_rows/row_table.hpp"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <filesystem>

namespace troupe {

namespace {

using json = nlohmann::ordered_json;

void require_free(const std::string& path, bool overwrite) {
  if (!overwrite && std::filesystem::exists(path))
    throw failure(failure_code::cannot_create, "there is a file already", path,
                  "choose another name, or say --overwrite");
}

target_use use_of(const std::string& targets) {
  if (targets == "classes")
    return target_use::labels;
  if (targets == "numbers")
    return target_use::numbers;
  if (targets == "auto")
    return target_use::by_content;
  throw failure(failure_code::usage, "targets are auto, classes or numbers", "--targets",
                "leave it out to let the file decide");
}

/// One line on a terminal, redrawn ten times a second; nothing elsewhere.
class rows_progress {
public:
  explicit rows_progress(bool quiet) : live_(!quiet && style_for(stderr).live) {}
  ~rows_progress() {
    if (shown_)
      print_message("\r\033[K");
  }

  void show(const std::string& doing, uint64_t done, uint64_t of) {
    constexpr std::chrono::milliseconds interval{100};
    const auto now = std::chrono::steady_clock::now();
    if (!live_ || now - last_ < interval)
      return;
    last_ = now;
    shown_ = true;
    print_message(
      "\r\033[K" + doing + ' ' + std::to_string(done) + " rows" +
      (of > 0 ? " of " + std::to_string(of) + ", " + std::to_string(100 * done / of) + " %" : ""));
  }

private:
  bool live_;
  bool shown_ = false;
  std::chrono::steady_clock::time_point last_;
};

/// The rows as they are to be read, and what their target is called.
struct source_rows {
  row_opener open;
  std::string target_name;
};

std::unique_ptr<array_reader> open_array(const data_arguments& data, const std::string& labels) {
  auto reader = std::make_unique<array_reader>(data.file, size_t{rows_columns_max});
  if (!labels.empty())
    reader->set_labels(labels, 1);
  return reader;
}

source_rows rows_to_convert(const data_arguments& data, file_format format) {
  const auto target = data.target.empty() ? "last" : data.target;
  const auto labels = data.labels_file.empty() ? labels_beside(data.file) : data.labels_file;
  const bool is_array = format == file_format::idx || format == file_format::npy;
  if (format == file_format::text)
    throw failure(failure_code::usage, "a text is read as it is, into windows of characters",
                  "--format", "name it in a job: data.format = \"text\"");
  if (!data.ignore.empty() && format != file_format::csv)
    throw failure(failure_code::usage, "only columns of CSV files are ignored", "--ignore",
                  "leave it out");
  if (is_array && !labels.empty())
    return {[=] { return open_array(data, labels); }, "label"};
  const auto open = [=]() -> std::unique_ptr<row_reader> {
    std::unique_ptr<row_reader> reader;
    if (format == file_format::csv)
      reader = std::make_unique<csv_reader>(data.file, header_option(data.header));
    else if (format == file_format::rows)
      reader = std::make_unique<rows_reader>(data.file);
    else
      reader = open_array(data, {});
    reader->set_targets({reader->find_column(target)});
    reader->ignore(data.ignore);
    return reader;
  };
  const auto reader = open();
  return {open, reader->column_names()[reader->find_column(target)]};
}

std::string facts_of(const rows_header& x) {
  auto result = std::to_string(x.row_count) + " rows of " + std::to_string(x.feature_count) +
                (x.type == feature_type::u8 ? " features (bytes)" : " features (float32)") +
                ", chunks of " + std::to_string(x.chunk_rows) + " rows; ";
  if (x.is_classification())
    return result + std::to_string(x.classes.size()) + " classes";
  return result + "numbers from " + figure_text(x.target_minimum) + " to " +
         figure_text(x.target_maximum);
}

rows_header convert_whole(const convert_arguments& x) {
  if (x.shuffle)
    throw failure(failure_code::usage, "libsvm files are read whole and are not shuffled here",
                  "--shuffle", "convert the file first, and then the result with --shuffle");
  read_options options;
  options.format = file_format::libsvm;
  options.libsvm.index_base = x.data.index_base.value_or(1);
  const auto rows = to_dataset(read_data(x.data.file, options), use_of(x.targets));
  const auto chunk_rows = x.chunk_rows > 0 ? std::optional{x.chunk_rows} : std::nullopt;
  write_rows(x.output, rows, chunk_rows);
  return rows_header_of(rows, chunk_rows);
}

// Counts chunks with rows of less than half of the classes: a sorted file has many.
uint64_t poor_chunks(const rows_file& file) {
  const auto& header = file.header();
  uint64_t result = 0;
  for (uint64_t number = 0; number < header.chunk_count(); ++number) {
    const auto rows = file.read_targets(number);
    std::vector<bool> seen(header.classes.size());
    for (const auto label : rows.labels)
      seen[static_cast<size_t>(label)] = true;
    const auto count = static_cast<size_t>(std::ranges::count(seen, true));
    result += 2 * count < std::min<size_t>(header.classes.size(), rows.row_count);
  }
  return result;
}

json object_of(const rows_file& file) {
  const auto& x = file.header();
  json object{{"file", file.name()},
              {"rows", x.row_count},
              {"features", x.feature_count},
              {"dtype", x.type == feature_type::u8 ? "U8" : "F32"},
              {"chunk_rows", x.chunk_rows},
              {"chunks", x.chunk_count()},
              {"fingerprint", file.fingerprint()},
              {"target", x.target_names},
              {"classes", x.classes},
              {"class_rows", x.class_rows}};
  if (x.is_classification())
    object["chunks_of_few_classes"] = poor_chunks(file);
  else
    object["target_range"] = {x.target_minimum, x.target_maximum};
  object["feature_names"] = x.feature_names;
  return object;
}

std::string report_of(const rows_file& file) {
  constexpr size_t classes_shown_max = 20;
  const auto& x = file.header();
  auto result = file.name() + ": " + facts_of(x) + "\nfingerprint  " + file.fingerprint() + '\n';
  if (!x.is_classification())
    return result;
  for (size_t c = 0; c < std::min(x.classes.size(), classes_shown_max); ++c)
    result +=
      "  " + shown_text(x.classes[c]) + " in " + std::to_string(x.class_rows[c]) + " rows\n";
  if (const auto poor = poor_chunks(file); poor > 0)
    result += std::to_string(poor) + " of " + std::to_string(x.chunk_count()) +
              " chunks have rows of less than half of the classes: if training by lanes is to mix "
              "them, shuffle the rows once: troupe data convert --shuffle\n";
  return result;
}

// ---- The commands ----

/// Writes the rows of a file in any format as a file of rows. Prints what it holds.
int data_convert_command(const convert_arguments& x) {
  require_free(x.output, x.overwrite);
  const auto format = format_option(x.data);
  if (format == file_format::libsvm) {
    print_result(x.output + ": " + facts_of(convert_whole(x)) + '\n');
    return 0;
  }
  const auto rows = rows_to_convert(x.data, format);
  convert_options options;
  options.target_name = rows.target_name;
  options.use = use_of(x.targets);
  if (x.chunk_rows > 0)
    options.chunk_rows = x.chunk_rows;
  if (x.shuffle)
    options.shuffle = x.seed;
  rows_progress progress{x.quiet};
  options.on_progress = [&](uint64_t done, uint64_t of) {
    progress.show(of > 0 ? "writing" : "counting", done, of);
  };
  try {
    const auto header = convert_rows(rows.open, x.output, options);
    print_result(x.output + ": " + facts_of(header) + '\n');
  } catch (const failure& error) {
    if (error.code() != failure_code::bad_job)
      throw;
    throw failure(failure_code::usage, error.reason(), "--targets",
                  "say so: --targets classes, or --targets numbers");
  }
  return 0;
}

/// Prints what a file of rows holds: a report, or with `json` one object, failures included.
int data_inspect_command(const std::string& path, bool json_wanted) {
  return with_failure_object(json_wanted, [&] {
    const rows_file file{path};
    print_result(json_wanted ? one_line(object_of(file)) : report_of(file));
    return 0;
  });
}

/// Reads a file of rows whole and compares it with its checksums: "FILE: ok", or each damaged chunk
/// and 65.
int data_check_command(const std::string& path, bool quiet) {
  const rows_file file{path};
  const auto& header = file.header();
  rows_progress progress{quiet};
  uint64_t damaged = 0;
  for (uint64_t number = 0; number < header.chunk_count(); ++number) {
    try {
      file.read_chunk(number);
    } catch (const failure& error) {
      if (error.code() != failure_code::bad_data)
        throw;
      ++damaged;
      print_message("troupe: error: " + path + ": " + error.reason() + '\n');
    }
    progress.show("checked", std::min((number + 1) * header.chunk_rows, header.row_count),
                  header.row_count);
  }
  if (damaged > 0)
    throw failure(failure_code::bad_data,
                  std::to_string(damaged) + " of " + std::to_string(header.chunk_count()) +
                    " chunks are damaged",
                  path, "make the file anew: troupe data convert");
  print_result(path + ": ok\n");
  return 0;
}

/// Cuts a file of rows into several.
int data_split_command(const split_arguments& x) {
  const rows_file file{x.file};
  const auto& header = file.header();
  if (x.parts < 2 || x.parts > header.row_count)
    throw failure(failure_code::usage,
                  "a file of " + std::to_string(header.row_count) + " rows can be cut into 2 to " +
                    std::to_string(header.row_count) + " parts",
                  "--parts", "name how many files there are to be");
  for (size_t k = 0; k < x.parts; ++k)
    require_free(x.output + "-" + std::to_string(k) + ".safetensors", x.overwrite);
  for (size_t k = 0; k < x.parts; ++k) {
    const auto path = x.output + "-" + std::to_string(k) + ".safetensors";
    const auto part =
      write_part(file, k * header.row_count / x.parts, (k + 1) * header.row_count / x.parts, path);
    print_result(path + ": " + facts_of(part) + '\n');
  }
  return 0;
}

/// Writes how the rows of a job are read and scaled.
int data_table_command(const table_arguments& x) {
  require_free(x.output, x.overwrite);
  const auto loaded = load_job_and_places(x.job, x.sets, process_environment());
  try {
    const auto data = load_data(loaded.value);
    const auto text = reading_text(
      {without_rows(data->train), {data->train.columns.fill, data->features, data->scale}});
    try {
      reading_of(text, x.job);
    } catch (const failure& error) {
      throw failure(error.code(), "no table tells how to read these rows: " + error.reason(), x.job,
                    "name columns and targets, each once");
    }
    write_file_atomically(x.output, text + '\n');
  } catch (const failure& error) {
    throw_with_place(error, loaded);
  }
  print_result(x.output + '\n');
  return 0;
}

// ---- Their command lines ----

void add_convert(CLI::App& data, data_line& line, std::function<int()>& chosen) {
  auto& x = line.convert;
  auto* convert =
    data.add_subcommand("convert", "Writes rows so that training can read windows of them");
  convert->add_option("file", x.data.file, "CSV, libsvm, IDX, NPY, or a file of rows")
    ->required()
    ->type_name("FILE");
  convert->add_option("-o,--output", x.output, "The file to write")
    ->required()
    ->type_name("ROWS.safetensors");
  convert->add_option("--format", x.data.format, "auto, csv, libsvm, idx, npy or rows");
  convert->add_option("--target", x.data.target, "The target's column: last, its name or index");
  convert->add_option("--ignore", x.data.ignore, "csv: a column that is no feature; may come again")
    ->type_name("COLUMN")
    ->expected(1)
    ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  convert->add_option("--header", x.data.header, "csv: auto, yes or no");
  convert->add_option("--index-base", x.data.index_base, "libsvm: index of the first feature");
  convert->add_option("--labels-file", x.data.labels_file, "idx, npy: the targets")
    ->type_name("FILE");
  convert->add_option("--targets", x.targets, "What they are: auto, classes or numbers");
  convert->add_option("--chunk-rows", x.chunk_rows,
                      "Rows that are read together; 0: 1 MiB of rows");
  auto* shuffle = convert->add_flag("--shuffle", x.shuffle, "Writes the rows in random order");
  convert->add_option("--seed", x.seed, "Of the random order")->needs(shuffle);
  convert->add_flag("--overwrite", x.overwrite, "Replaces a file that is there");
  convert->add_flag("--quiet", x.quiet, "Shows no progress");
  convert->footer("Example:\n  troupe data convert rows.csv -o rows.safetensors --shuffle");
  convert->callback([&] { chosen = [&x] { return data_convert_command(x); }; });
}

void add_split(CLI::App& data, data_line& line, std::function<int()>& chosen) {
  auto& x = line.split;
  auto* split = data.add_subcommand("split", "Cuts a file of rows into several");
  split->add_option("file", x.file, "The file of rows")->required()->type_name("ROWS");
  split->add_option("-o,--output", x.output, "Files are PREFIX-0.safetensors and so on")
    ->required()
    ->type_name("PREFIX");
  split->add_option("--parts", x.parts, "How many")->required();
  split->add_flag("--overwrite", x.overwrite, "Replaces files that are there");
  split->footer("Example:\n  troupe data split rows.safetensors -o site --parts 3");
  split->callback([&] { chosen = [&x] { return data_split_command(x); }; });
}

void add_table(CLI::App& data, data_line& line, std::function<int()>& chosen) {
  auto& x = line.table;
  auto* table =
    data.add_subcommand("table", "Writes how a job's rows are read and scaled, for data.table");
  table->add_option("job", x.job, "The job whose rows it is made from")
    ->required()
    ->type_name("JOB.toml");
  table->add_option("-o,--output", x.output, "The file to write")
    ->required()
    ->type_name("TABLE.json");
  add_sets(*table, x.sets);
  table->add_flag("--overwrite", x.overwrite, "Replaces a file that is there");
  table->footer("Example:\n  troupe data table job.toml -o table.json");
  table->callback([&] { chosen = [&x] { return data_table_command(x); }; });
}

} // namespace

void add_data(CLI::App& app, data_line& x, std::function<int()>& chosen) {
  auto* data = app.add_subcommand(
    "data", "Converts, shows, checks and cuts files of rows; writes tables of how rows are read");
  data->require_subcommand(1);
  data->footer("Example:\n  troupe data convert rows.csv -o rows.safetensors");
  add_convert(*data, x, chosen);
  auto* inspect = data->add_subcommand("inspect", "Shows what a file of rows holds");
  inspect->add_option("file", x.file, "The file of rows")->required()->type_name("ROWS");
  inspect->add_flag("--json", x.json, "Prints one JSON object");
  inspect->footer("Example:\n  troupe data inspect rows.safetensors");
  inspect->callback([&] { chosen = [&x] { return data_inspect_command(x.file, x.json); }; });
  auto* check =
    data->add_subcommand("check", "Reads a file of rows whole: is it as it was written?");
  check->add_option("file", x.file, "The file of rows")->required()->type_name("ROWS");
  check->add_flag("--quiet", x.quiet, "Shows no progress");
  check->footer("Example:\n  troupe data check rows.safetensors");
  check->callback([&] { chosen = [&x] { return data_check_command(x.file, x.quiet); }; });
  add_split(*data, x, chosen);
  add_table(*data, x, chosen);
}

} // namespace troupe
