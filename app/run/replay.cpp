#include "app/run/replay.hpp"

#include "data/records/recorded_rounds.hpp"
#include "data/records/summary_file.hpp"
#include "data/run_folder/run_directory.hpp"
#include "data/text/failure.hpp"

#include <filesystem>
#include <fstream>
#include <iterator>

namespace troupe {

namespace {

std::string in_record(const std::string& folder, std::string_view name) {
  return (std::filesystem::path{folder} / name).string();
}

std::optional<std::string> text_in_record(const std::string& path) {
  std::ifstream in{path, std::ios::binary};
  if (!in)
    return std::nullopt;
  return std::string{std::istreambuf_iterator<char>{in}, {}};
}

} // namespace

std::string job_of_record(const std::string& folder) {
  std::error_code ignored;
  const auto job = in_record(folder, job_file_name);
  if (!std::filesystem::exists(job, ignored))
    throw failure(failure_code::missing_input,
                  "this is no folder of a run: it has no " + std::string{job_file_name}, folder,
                  "name the folder that the run wrote, such as runs/NAME");
  if (!std::filesystem::exists(in_record(folder, sequence_file_name), ignored) &&
      !has_rounds(folder))
    throw failure(
      failure_code::missing_input,
      "the run has no " + std::string{sequence_file_name} +
        ", the record of its decisions, and no " + std::string{clients_file_name} +
        ", that of its clients",
      folder,
      "asynchronous runs have the one, and those whose clients dialled in the other; the "
      "bits of all others follow from their job: train " +
        job);
  return job;
}

bool has_rounds(const std::string& folder) {
  std::error_code ignored;
  return std::filesystem::exists(in_record(folder, clients_file_name), ignored);
}

recorded_run read_recorded_run(const std::string& folder) {
  recorded_run result;
  result.folder = folder;
  if (has_rounds(folder))
    result.rounds = std::make_shared<const std::vector<recorded_round>>(
      read_recorded_rounds(in_record(folder, clients_file_name)));
  else
    result.decisions = std::make_shared<const recorded_sequence>(
      read_sequence(in_record(folder, sequence_file_name)));
  const auto path = in_record(folder, identity_file_name);
  const auto identity = text_in_record(path);
  if (!identity)
    throw failure(failure_code::missing_input, "the run does not say of which job it is", path);
  result.identity = *identity;
  const auto summary = in_record(folder, summary_file_name);
  if (const auto text = text_in_record(summary))
    result.summary = read_summary(*text, summary);
  return result;
}

void expect_same_job(const recorded_run& run, const std::string& identity) {
  auto keys = keys_that_differ(run.identity, identity);
  std::erase(keys, "training.replicas"); // the record says what each of them did
  if (run.rounds)                        // and each client's update whether its rows are those
    std::erase_if(keys, [](const std::string& key) {
      return key.starts_with("data") || key == "federated.partition" ||
             key == "federated.clients" || key == "training.batch_size";
    });
  if (keys.empty())
    return;
  std::string list;
  for (const auto& key : keys)
    list += (list.empty() ? "" : ", ") + key;
  throw failure(failure_code::mismatch,
                "this is another job than that of the recorded run: it differs in " + list,
                run.folder, "repeat a run with its own job, on the data that it had");
}

std::string outcome_of_replay(const recorded_run& run, const training_summary& repeated) {
  if (!run.summary || run.summary->parameters_sha256.empty())
    return "the run in " + run.folder + " has not ended: its record was repeated up to step " +
           std::to_string(repeated.steps);
  const bool same_steps = run.summary->steps == repeated.steps;
  if (same_steps && run.summary->parameters_sha256 == repeated.parameters_sha256)
    return "the parameters are those of " + run.folder + ", bit for bit";
  throw failure(failure_code::mismatch,
                same_steps ? "the repeated run came to other parameters"
                           : "the repeated run ended at step " + std::to_string(repeated.steps) +
                               ", the recorded one at step " + std::to_string(run.summary->steps),
                run.folder,
                "was the record changed, the run trained by another version, or are other "
                "evaluations or checkpoints asked for?");
}

} // namespace troupe
