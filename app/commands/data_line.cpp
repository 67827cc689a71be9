#include "troupe/app/commands/data_line.hpp"

#include <CLI/CLI.hpp>

namespace troupe {

namespace {

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

void add_init(CLI::App& app, init_arguments& x, std::function<int()>& chosen) {
  auto* init = app.add_subcommand("init", "Looks at a CSV file and writes a first job for it");
  init->add_option("file", x.file, "The file of rows")->required()->type_name("FILE");
  init->add_option("-o,--output", x.output, "The job to write; -: standard output")
    ->type_name("JOB");
  init->add_option("--target", x.target, "The column to learn, by name");
  init->add_option("--header", x.header, "auto, yes or no");
  init->add_flag("--overwrite", x.overwrite, "Replaces a file that is there");
  init->footer("Example:\n  troupe init examples/data/iris.csv -o iris.toml");
  init->callback([&] { chosen = [&x] { return init_command(x); }; });
}

} // namespace

void add_data(CLI::App& app, data_line& x, std::function<int()>& chosen) {
  add_init(app, x.init, chosen);
  auto* data = app.add_subcommand("data", "Converts, shows, checks and cuts files of rows");
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
}

} // namespace troupe
