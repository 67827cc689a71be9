#include "troupe/app/sweep/sweep_command.hpp"

#include "troupe/app/compare/curves.hpp"
#include "troupe/app/job/job_file.hpp"
#include "troupe/app/job/job_text.hpp"
#include "troupe/app/run/training_run.hpp"
#include "troupe/app/sweep/sweep_folds.hpp"
#include "troupe/app/sweep/sweep_run.hpp"
#include "troupe/app/terminal/figures_text.hpp"
#include "troupe/app/terminal/output.hpp"
#include "troupe/app/toml/environment.hpp"
#include "troupe/data/disk/atomic_file.hpp"
#include "troupe/data/run_folder/folder_claim.hpp"
#include "troupe/data/run_folder/run_directory.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>
#include <thread>
#include <utility>

namespace troupe {

namespace {

namespace fs = std::filesystem;
using json = nlohmann::ordered_json;

constexpr int stopped_by_signal = 128;
constexpr const char* sweep_file_name = "sweep.json";

std::string path_in(const std::string& folder, const std::string& name) {
  return (fs::path{folder} / name).string();
}

// All trials before the first one begins: a wrong value of the last one is found now.
void check_all(const sweep_orders& x) {
  for (size_t i = 0; i < x.trials.size(); ++i) {
    auto sets = x.sets;
    for (const auto& [key, value] : x.trials[i])
      sets.push_back(key + '=' + value);
    load_job_and_places(x.job_file, sets, process_environment());
  }
}

sweep_orders orders_of(const sweep_arguments& arguments, const job& base) {
  sweep_orders result;
  result.job_file = arguments.job_file;
  result.folder = arguments.folder.empty() ? "runs/" + base.name + "-sweep" : arguments.folder;
  result.sets = arguments.sets;
  result.trials = sweep_trials(arguments.grids, arguments.randoms, arguments.seed);
  result.folds = arguments.folds;
  if (result.folds > 0) {
    result.trials = with_folds(result.trials, result.folds);
    result.sets.push_back("data.folds=" + std::to_string(result.folds));
  }
  result.shape = {
    result.trials.size(), {base.training.epochs}, std::max<size_t>(arguments.halving, 1)};
  result.slots =
    arguments.slots ? arguments.slots : std::max(1u, std::thread::hardware_concurrency());
  result.quiet = arguments.quiet;
  if (arguments.halving == 0)
    return result;
  if (result.folds > 0)
    throw failure(failure_code::usage, "--halve drops trials, and --folds trains all of a setting",
                  {}, "leave one of the two out");
  if (base.training.steps)
    throw failure(failure_code::usage, "--halve counts epochs, and training.steps is set", {},
                  "set training.epochs instead");
  result.shape.rungs = halving_rungs(result.trials.size(), base.training.epochs, arguments.halving);
  return result;
}

json plan_of(const sweep_orders& x, const std::string& job_text) {
  json result{{"job", job_text},
              {"sets", x.sets},
              {"rungs", x.shape.rungs},
              {"keep_one_of", x.shape.keep_one_of},
              {"trials", json::array()}};
  for (const auto& trial : x.trials) {
    result["trials"].push_back(json::object());
    for (const auto& [key, value] : trial)
      result["trials"].back()[key] = value;
  }
  return result;
}

std::string text_of_file(const std::string& path) {
  std::ifstream in{path, std::ios::binary};
  return {std::istreambuf_iterator<char>{in}, {}};
}

bool is_run(const fs::path& folder) {
  std::error_code ignored;
  return fs::exists(folder / identity_file_name, ignored);
}

// The trials of an earlier search and what came of them. What lies there under a trial's name and is no run is
// somebody else's.
void remove_search(const std::string& folder) {
  std::error_code ignored;
  for (const auto* name : {"best.toml", "sweep.csv", "folds.csv", "curves.svg"})
    fs::remove(path_in(folder, name), ignored);
  for (size_t i = 0; i < trials_max; ++i)
    if (const fs::path trial = path_in(folder, trial_folder_name(i)); is_run(trial))
      fs::remove_all(trial, ignored);
}

// Where there was no search nothing is removed, and no run of anybody is taken for a trial.
void expect_no_trials(const sweep_orders& x) {
  std::error_code ignored;
  for (size_t i = 0; i < x.trials.size(); ++i)
    if (const auto trial = path_in(x.folder, trial_folder_name(i)); fs::exists(trial, ignored))
      throw failure(failure_code::cannot_create,
                    "a trial would be written there, and it is no trial", trial,
                    "choose another place with -o FOLDER");
}

void begin(const sweep_arguments& arguments, const sweep_orders& orders) {
  const auto path = path_in(orders.folder, sweep_file_name);
  const auto plan = one_line(plan_of(orders, text_of_file(orders.job_file)));
  std::error_code ignored;
  const bool is_there = fs::exists(path, ignored);
  if (is_there && !arguments.resume && !arguments.overwrite)
    throw failure(
      failure_code::cannot_create, "there is a sweep already", orders.folder,
      "--resume goes on with it, --overwrite replaces it, -o FOLDER chooses another place");
  if (is_there && arguments.resume && text_of_file(path) != plan)
    throw failure(failure_code::cannot_create,
                  "the sweep there has other trials, or another job file", orders.folder,
                  "give the same options as then, or choose another place with -o FOLDER");
  if (is_there && arguments.overwrite)
    remove_search(orders.folder);
  if (!is_there || arguments.overwrite) {
    expect_no_trials(orders);
    write_file_atomically(path, plan);
  }
}

// Keys of all trials, and a fold so that the job is whole.
std::vector<std::string> sets_of_fold(const sweep_arguments& arguments) {
  auto result = arguments.sets;
  if (arguments.folds > 0)
    result.insert(result.end(), {"data.folds=" + std::to_string(arguments.folds), "data.fold=0"});
  return result;
}

// The job of a setting, without folds: on all rows that are not for testing.
std::string job_of_setting(const sweep_orders& orders, const sweep_arguments& arguments,
                           size_t setting) {
  auto sets = sets_of_fold(arguments);
  for (const auto& [key, value] : without_fold(orders.trials[setting * orders.folds]))
    sets.push_back(key + '=' + value);
  auto result = load_job(orders.job_file, sets, process_environment());
  auto& data = result.data;
  data.folds.reset();
  data.fold.reset();
  if (data.test_fraction == 0) { // nothing is split off any more
    data.stratify = false;
    if (!data.split_by.empty())
      data.ignore.push_back(std::exchange(data.split_by, {}));
  }
  return job_text(result);
}

void write_files(const sweep_orders& orders, const sweep_outcome& x) {
  write_file_atomically(path_in(orders.folder, "sweep.csv"), sweep_csv(x));
  std::vector<run_record> runs;
  for (const auto i : x.rule.ranking())
    if (x.runs[i] && !x.runs[i]->history.empty()) {
      runs.push_back(*x.runs[i]);
      runs.back().name = trial_folder_name(i);
    }
  if (!runs.empty())
    write_file_atomically(path_in(orders.folder, "curves.svg"), curves_svg(runs));
  const auto best = x.rule.ranking().front();
  if (orders.folds == 0 && x.rule.loss(best))
    write_file_atomically(path_in(orders.folder, "best.toml"),
                          text_of_file(path_in(path_in(orders.folder, trial_folder_name(best)),
                                               std::string{job_file_name})));
}

/// Tells and writes what came of it. Whether there is a best one.
bool tell(const sweep_arguments& arguments, const sweep_orders& orders, const sweep_outcome& x) {
  write_files(orders, x);
  auto object = sweep_object(x);
  if (orders.folds == 0) {
    print_result(arguments.json ? one_line(object) : sweep_text(x));
    return !object["best"].is_null();
  }
  const auto settings = settings_object(x, orders.folds);
  const auto& best = settings.front();
  const bool is_there = !best["loss"].is_null();
  object["settings"] = settings;
  object["best"] = is_there ? best["setting"] : json(nullptr);
  write_file_atomically(path_in(orders.folder, "folds.csv"), settings_csv(settings));
  if (is_there)
    write_file_atomically(path_in(orders.folder, "best.toml"),
                          job_of_setting(orders, arguments, best["setting"].get<size_t>() - 1));
  print_result(arguments.json ? one_line(object) : settings_text(settings));
  return is_there;
}

int run(const sweep_arguments& arguments, std::string& job_name) {
  if (arguments.grids.empty() && arguments.randoms.empty() && arguments.folds == 0)
    throw failure(failure_code::usage, "a sweep needs --grid, --random or --folds", {},
                  "as --grid optimizer.learning_rate=0.1,0.01");
  const auto base = load_job(arguments.job_file, sets_of_fold(arguments), process_environment());
  job_name = base.name;
  const auto orders = orders_of(arguments, base);
  check_all(orders);
  const folder_claim claim{orders.folder, {"sweep directory", "--output"}};
  begin(arguments, orders);
  if (!arguments.quiet)
    print_message("sweep     " + std::to_string(orders.trials.size()) + " trials, " +
                  std::to_string(orders.slots) + " at once, in " + orders.folder + '\n');
  const auto end = run_sweep(orders);
  const bool has_best = tell(arguments, orders, end.outcome);
  return end.stop_signal != 0 ? stopped_by_signal + end.stop_signal : has_best ? 0 : 1;
}

} // namespace

int sweep_command(const sweep_arguments& arguments) {
  return with_failure_object(arguments.json,
                             [&](std::string& job_name) { return run(arguments, job_name); });
}

} // namespace troupe
