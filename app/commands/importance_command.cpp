// troupe importance: which columns a model goes by, from the rows that its run kept aside.

#include "app/commands/commands.hpp"
#include "app/predict/run_rows.hpp"
#include "app/run/training_run.hpp"
#include "app/terminal/figures_text.hpp"
#include "app/terminal/output.hpp"
#include "data/disk/atomic_file.hpp"
#include "data/model_file/importance.hpp"
#include "data/model_file/saved_model.hpp"
#include "data/run_folder/run_directory.hpp"
#include "data/text/failure.hpp"
#include "models/base/names.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <thread>

namespace troupe {

namespace {

using json = nlohmann::ordered_json;

/// Columns of a table for people; the file has them all.
constexpr size_t columns_shown_max = 30;

json object_of(const importance_figures& x, const run_rows& source, row_part part,
               const importance_arguments& asked) {
  const auto score = source.rows.is_classification() ? "accuracy" : "r2";
  json object{
    {"data_file", source.data}, {"part", name_of(part)},   {"rows", source.rows.row_count},
    {"repeats", asked.repeats}, {"seed", asked.seed},      {"loss", x.loss},
    {score, x.score},           {"columns", json::array()}};
  for (const auto& one : x.columns)
    object["columns"].push_back({{"column", one.column},
                                 {"loss", one.loss.mean},
                                 {"loss_deviation", one.loss.deviation},
                                 {score, one.score.mean},
                                 {std::string{score} + "_deviation", one.score.deviation}});
  return object;
}

std::string report_of(importance_figures x, const char* score) {
  std::ranges::stable_sort(x.columns, std::greater{},
                           [](const column_importance& one) { return one.loss.mean; });
  text_table table{1, {"dealt out anew", "loss rises by", "+-", std::string{score} + " falls by"}};
  for (size_t i = 0; i < std::min(columns_shown_max, x.columns.size()); ++i) {
    const auto& one = x.columns[i];
    table.add({printable_text(one.column), fmt::format("{:.4g}", one.loss.mean),
               fmt::format("{:.2g}", one.loss.deviation), fmt::format("{:.4g}", one.score.mean)});
  }
  const auto more = x.columns.size() > columns_shown_max
                      ? "and " + std::to_string(x.columns.size() - columns_shown_max) +
                          " columns of less; --json prints them all\n"
                      : "";
  return fmt::format("as they are: loss {:.4g}, {} {:.4g}\n\n", x.loss, score, x.score) +
         table.text() + more;
}

int importance_command(const importance_arguments& x) {
  return with_failure_object(x.json, [&] {
    const auto model = read_model(model_path_of(x.model_file));
    const auto folder = run_folder_of(x.model_file);
    const auto part = part_option(x.rows);
    const auto source = rows_of_run(folder, part);
    if (source.rows.feature_count != model.network->feature_count() ||
        source.rows.classes != model.classes)
      throw failure(failure_code::mismatch, "the model is not that of the run", folder,
                    "name the folder of the model's own run");
    if (source.rows.is_sparse())
      throw failure(failure_code::usage, "sparse rows have no columns to deal out", folder,
                    "train on dense rows: data.dense = true");
    const auto found = importance_of(
      model, source.rows, {x.repeats, x.seed, std::max(1u, std::thread::hardware_concurrency())});
    const auto object = object_of(found, source, part, x);
    write_file_atomically((std::filesystem::path{folder} / importance_file_name).string(),
                          object.dump(2) + '\n');
    print_result(x.json ? one_line(object)
                        : report_of(found, source.rows.is_classification() ? "accuracy" : "r2"));
    return 0;
  });
}

} // namespace

void add_importance(CLI::App& app, importance_arguments& x, std::function<int()>& chosen) {
  auto* command =
    app.add_subcommand("importance", "Says which columns a model goes by, and how much");
  command->add_option("run", x.model_file, "The folder of a run, or the model in it")
    ->required()
    ->type_name("RUN");
  command->add_option("--rows", x.rows, "Rows of the run: test, validation or train")
    ->type_name("PART");
  command->add_option("--repeats", x.repeats, "Times that each column is dealt out anew (5)")
    ->check(CLI::Range(1, 1000));
  command->add_option("--seed", x.seed, "Of how it is dealt out (0)");
  command->add_flag("--json", x.json, "Prints one JSON object");
  command->footer("Example:\n  troupe importance runs/churn");
  command->callback([&] { chosen = [&x] { return importance_command(x); }; });
}

} // namespace troupe
