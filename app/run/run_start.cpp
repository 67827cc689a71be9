#include "app/run/run_start.hpp"

#include "actors/run/model_writer.hpp"
#include "actors/run/private_run.hpp"
#include "actors/run/resuming.hpp"
#include "coordinators/job/added_values.hpp"
#include "coordinators/job/resolve.hpp"
#include "coordinators/job/training_modes.hpp"
#include "data/records/history_file.hpp"
#include "data/records/summary_file.hpp"
#include "data/text/checksum.hpp"
#include "data/text/failure.hpp"
#include "models/base/arithmetic.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <thread>
#include <utility>

namespace troupe {

namespace {

constexpr folder_role checkpoint_role{"checkpoint directory", "checkpoint.directory"};

bool is_one_folder(const std::string& a, const std::string& b) {
  std::error_code ignored;
  return std::filesystem::equivalent(a, b, ignored);
}

void refuse_earlier_checkpoints(const std::string& folder) {
  if (const auto name = checkpoint_in(folder))
    throw failure(failure_code::cannot_create,
                  "the checkpoint directory holds an unfinished run (" + *name + ")", folder,
                  "add --resume to continue it or --overwrite to replace it, or set another "
                  "checkpoint.directory");
}

// What the job is beside its data.
struct resolved_job {
  resolved_job(const job& x, const prepared_data& data)
    : value(resolve(x, shape_of(data), std::thread::hardware_concurrency())),
      identity(identity_of(value, data)),
      last_version(timeline_of(value, shape_of(data)).last_version()) {}

  std::string sha256() const { return sha256_hex(std::as_bytes(std::span{identity})); }

  job value;
  std::string identity;
  uint64_t last_version;
};

// A job file that was changed by hand may not be a job any more: then its rules are unknown.
bool has_same_rules(const run_directory& folder, job x) {
  try {
    auto old = load_job(folder.file(job_file_name), {}, {});
    settle_added_values(old);
    settle_added_values(x);
    const stop_rule_options &before = old.training, &now = x.training;
    return old.privacy.epsilon == x.privacy.epsilon && old.privacy.delta == x.privacy.delta &&
           before == now && old.training.evaluate_every == x.training.evaluate_every;
  } catch (const failure&) {
    return false;
  }
}

training_summary summary_in(const run_directory& folder) {
  const auto path = folder.file(summary_file_name);
  std::ifstream in{path, std::ios::binary};
  const std::string text{std::istreambuf_iterator<char>{in}, {}};
  return read_summary(text, path);
}

// Where a run ended. Its result may be a best version from long before; when no result ended it,
// its own job says how far it went.
uint64_t end_of(const training_summary& summary, const run_directory& folder,
                const prepared_data& data) {
  const bool by_plan = summary.stopped_by == name_of(stop_reason::epochs) ||
                       summary.stopped_by == name_of(stop_reason::steps);
  if (!by_plan || !summary.best_version)
    return summary.steps;
  try {
    return resolved_job{load_job(folder.file(job_file_name), {}, {}), data}.last_version;
  } catch (const failure&) { // changed by hand
    return summary.steps;
  }
}

// The summary of a run that is finished and stays so.
std::optional<training_summary> finished_run(const run_directory& folder, const resolved_job& x,
                                             const prepared_data& data) {
  if (!folder.has(summary_file_name))
    return std::nullopt;
  auto summary = summary_in(folder);
  if (summary.stopped_by == name_of(stop_reason::diverged))
    throw failure(failure_code::diverged,
                  "the run diverged at step " + std::to_string(summary.steps) +
                    ", and would do so again: the same job gives the same numbers",
                  folder.path(), "lower optimizer.learning_rate and use --overwrite");
  const ended_run ended{end_of(summary, folder, data), summary.stopped_by,
                        has_same_rules(folder, x.value),
                        summary.best_version && !*x.value.training.keep_best};
  if (can_go_on(ended, x.last_version))
    return std::nullopt;
  return summary;
}

void check(const checkpoint& found, const std::string& path, const resolved_job& x) {
  if (found.arithmetic != arithmetic_name)
    throw failure(
      failure_code::mismatch,
      "the checkpoint was computed by another arithmetic than this release's: " + found.arithmetic +
        ", not " + arithmetic_name,
      path, "go on with the release that wrote it, or start a new run from its model file");
  if (found.version > x.last_version)
    throw failure(failure_code::bad_job,
                  "the checkpoint is at step " + std::to_string(found.version) +
                    ", but training ends at step " + std::to_string(x.last_version),
                  path, "raise training.epochs or training.steps, or use --overwrite");
}

std::string beginning_note(const run_folders& folders) {
  const bool has_run = folders.run().identity().has_value();
  return folders.checkpoints()->directory() + ": there is no " +
         (has_run ? "checkpoint" : "run to resume") + ": training starts from the beginning\n";
}

std::string finished_note(const run_directory& folder, const training_summary& summary) {
  return folder.path() + ": the run is finished (step " + std::to_string(summary.steps) +
         ", stopped by " + summary.stopped_by + "): there is nothing to resume\n";
}

// A model that a run left without a checkpoint is its result: to begin anew would lose it. One that was stopped before its
// first step has none.
void expect_no_result(const run_directory& folder) {
  const bool has_summary = folder.has(summary_file_name);
  if (has_summary ? summary_in(folder).steps > 0 : folder.has(model_file_name))
    throw failure(
      failure_code::cannot_create,
      "the run directory holds a trained model and no checkpoint to go on from", folder.path(),
      "use --overwrite to begin anew, or set another output.directory to keep this one; "
      "with checkpoint.every_steps = N a run that ended can be made longer");
}

// Steps of an earlier life that the checkpoint lacks, and their seconds, as far as the run's history has them.
std::pair<uint64_t, double> beyond(const checkpoint& x, const run_directory& folder) {
  try {
    const auto path = folder.file(history_file_name);
    std::ifstream in{path, std::ios::binary};
    const auto rows = read_history(std::string{std::istreambuf_iterator<char>{in}, {}}, path);
    if (rows.empty() || rows.back().steps <= x.version)
      return {};
    return {rows.back().steps - x.version, std::max(rows.back().seconds - x.seconds, 0.0)};
  } catch (const failure&) { // none, or changed by hand
    return {};
  }
}

void take_up_checkpoint(run_start& result, checkpoint_search search, const resolved_job& x,
                        const run_directory& folder) {
  check(*search.newest, search.path, x);
  const auto [again, seconds] = beyond(*search.newest, folder);
  result.note = search.path + ": training goes on from step " +
                std::to_string(search.newest->version) +
                (again > 0 ? " (" + std::to_string(again) + " steps again)\n" : "\n");
  result.resume_from = std::move(search.newest);
  result.resume_from->recovery.steps_again += again;
  result.resume_from->recovery.seconds_again += seconds;
  result.resume_from->recovery.seconds_elapsed += seconds;
}

} // namespace

run_folders::run_folders(const job& x, earlier_run treatment)
  : run_(x.output.directory, treatment), treatment_(treatment) {
  auto directory = x.checkpoint.directory.empty() ? run_.path() : x.checkpoint.directory;
  if (!is_one_folder(directory, run_.path()))
    checkpoint_claim_.emplace(directory, checkpoint_role);
  if (treatment_ == earlier_run::refuse)
    refuse_earlier_checkpoints(directory);
  checkpoints_ =
    std::make_shared<checkpoint_store>(posix_disk(), std::move(directory), x.checkpoint.keep);
}

void run_folders::begin(const std::string& job_text, const std::string& identity) {
  // Before the folder says it is another job's: a checkpoint must never outlive its run.
  if (treatment_ == earlier_run::replace)
    checkpoints_->clear();
  run_.begin(job_text, identity);
}

bool can_go_on(const ended_run& ended, uint64_t last_version) {
  if (ended.drops_best && ended.steps <= last_version)
    return true;
  if (ended.steps >= last_version)
    return false;
  const bool by_results = ended.stopped_by == name_of(stop_reason::target_loss) ||
                          ended.stopped_by == name_of(stop_reason::patience) ||
                          ended.stopped_by == name_of(stop_reason::rule) ||
                          ended.stopped_by == name_of(stop_reason::epsilon);
  return !by_results || !ended.same_rules;
}

run_start find_start(const job& x, const prepared_data& data, const run_folders& folders,
                     const std::function<void(const std::string&)>& warn, const run_place& where) {
  const resolved_job resolved{x, data};
  auto place = where;
  if (!place.new_threads)
    place.new_threads = threads_of(x, shape_of(data));
  require_trainable(resolved.value, data, place); // before anything of an earlier run is replaced
  run_start result;
  result.identity = resolved.identity;
  result.model_file_bytes =
    model_file_bytes(make_model(resolved.value, shape_of(data))->layout(), data);
  if (folders.treatment() != earlier_run::resume)
    return result;
  folders.run().expect_identity(resolved.identity);
  result.finished = finished_run(folders.run(), resolved, data);
  if (result.finished) {
    result.note = finished_note(folders.run(), *result.finished);
    return result;
  }
  auto search = folders.checkpoints()->latest(resolved.sha256(), [&](const checkpoint& found) {
    return misfit_of(found, resolved.value, data);
  });
  for (const auto& one : search.skipped)
    warn("troupe: warning: " + one.path + ": not used: " + one.reason + "\n");
  if (search.newest) {
    take_up_checkpoint(result, std::move(search), resolved, folders.run());
    return result;
  }
  expect_no_result(folders.run());
  result.note = beginning_note(folders);
  return result;
}

namespace {

planned_run plan_of(const job& x, const cluster_plan& cluster) {
  const auto data = load_data(x);
  const auto shape = shape_of(*data);
  const auto cores = std::max<size_t>(std::thread::hardware_concurrency(), 1);
  const auto resolved = resolve(x, shape, cores);
  const auto own = cluster.nodes.empty() ? std::optional<size_t>{0} : std::nullopt;
  require_trainable(resolved, *data, {cluster, own});
  const plan_options options{cores, cluster.nodes, cluster.recovery};
  if (has_server(x.training) || scope_of(x.optimizer.kind) == optimizer_scope::solver)
    return {memory_plan_of(resolved, shape, options)};
  const auto plan = plan_of(resolved, shape, *make_model(resolved, shape), options);
  return {plan.processes, plan};
}

} // namespace

planned_run plan_run(const loaded_job& loaded, const cluster_plan& cluster) {
  try {
    return plan_of(loaded.value, cluster);
  } catch (const failure& error) {
    throw_with_place(error, loaded);
  }
}

} // namespace troupe
