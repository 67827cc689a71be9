#include "actors/run/training_end.hpp"

#include "actors/protocol/status_messages.hpp"
#include "actors/protocol/write_messages.hpp"
#include "actors/run/job_data.hpp"
#include "actors/run/private_run.hpp"
#include "actors/run/trainer_records.hpp"
#include "coordinators/job/federated_job.hpp"
#include "coordinators/job/private_job.hpp"
#include "coordinators/job/resolve.hpp"
#include "coordinators/job/training_modes.hpp"
#include "data/model_file/safetensors.hpp"
#include "data/records/trainer_table.hpp"
#include "data/text/checksum.hpp"
#include "data/text/failure.hpp"
#include "data/training_rows/client_partition.hpp"
#include "data/training_rows/row_source.hpp"
#include "models/base/arithmetic.hpp"
#include "models/base/rounding.hpp"
#include "models/training/round_record.hpp"

#include <caf/actor_system.hpp>

#include <algorithm>
#include <chrono>
#include <span>
#include <utility>

namespace troupe {

namespace {

/// A client may have any number of rows, so they are evaluated in parts of this size.
constexpr size_t rows_at_once = 256;

/// Evaluates a federated run's final model for each client, on the client's own test rows. The partition deals out test
/// rows like training rows (data/training_rows/client_partition.hpp). Clients without test rows are left out.
client_evaluation client_figures_of(const job& resolved,
                                    const std::shared_ptr<const prepared_data>& data,
                                    const model& network, std::span<const float> parameters) {
  const default_rounding rounding;
  const auto& test = data->test;
  const auto source = rows_of(data).test;
  auto options = partition_of(resolved);
  options.held_out = true;
  const auto clients = clients_of(options, test);
  std::vector<float> losses, accuracies;
  batch_reader reader;
  workspace memory;
  for (size_t client = 0; client < clients.client_count(); ++client) {
    const auto rows = clients.of(client);
    if (rows.empty())
      continue;
    batch_sums sums;
    for (size_t begin = 0; begin < rows.size(); begin += rows_at_once)
      sums =
        sums +
        network.evaluate(
          parameters,
          source->gather(rows.subspan(begin, std::min(rows_at_once, rows.size() - begin)), reader),
          memory);
    const auto count = static_cast<double>(sums.sample_count);
    losses.push_back(static_cast<float>(sums.loss_sum / count));
    if (test.is_classification())
      accuracies.push_back(static_cast<float>(static_cast<double>(sums.correct_count) / count));
  }
  return evaluation_of(losses, accuracies, test.row_count);
}

/// Of the result's probabilities for the validation rows, in the chunks of evaluations.
std::optional<decision_threshold> threshold_of(const job& resolved,
                                               const std::shared_ptr<const prepared_data>& data,
                                               const model& network,
                                               std::span<const float> parameters) {
  const auto label = threshold_class_of(resolved, shape_of(*data));
  if (!label)
    return std::nullopt;
  const default_rounding rounding;
  const auto source = rows_of(data).validation;
  std::vector<float> probabilities(source->row_count() * network.prediction_count());
  std::vector<int32_t> labels;
  batch_reader reader;
  workspace memory;
  for (size_t begin = 0; begin < source->row_count(); begin += rows_at_once) {
    const auto rows =
      source->range(begin, std::min(rows_at_once, source->row_count() - begin), reader);
    network.predict(parameters, rows,
                    std::span{probabilities}.subspan(2 * begin, 2 * rows.row_count), memory);
    labels.insert(labels.end(), rows.labels.begin(), rows.labels.end());
  }
  return best_threshold(resolved.training, *label, probabilities, labels);
}

/// How long the director may take to hand over the result. It never computes.
constexpr std::chrono::seconds pull_deadline{60};

void fill_figures(training_summary& summary, const training_finished& finished,
                  const timeline& plan) {
  summary.steps = finished.version;
  summary.epochs = finished.version / plan.steps_in_epoch();
  summary.seconds = finished.seconds;
  // First the samples of the run's steps, whichever replica computed them. Then the work of the remaining replicas,
  // repetitions included.
  summary.samples = plan.rows_before(finished.end_version);
  if (const auto& clients = finished.figures.clients; clients.rounds > 0 || clients.privacy) {
    summary.clients = clients;
    summary.samples = clients.rows;
  }
  summary.steps_executed = finished.end_version;
  for (const auto& replica : finished.replicas) {
    summary.steps_executed = std::max(summary.steps_executed, replica.steps_executed);
    summary.samples_by_replica.push_back(replica.sample_count);
  }
  summary.spans_by_node = finished.spans;
  static_cast<recovery_figures&>(summary) = finished;
  for (const auto& [kind, name] : name_table<tensor_kind>::entries)
    if (const auto bytes = finished.wire.bytes_sent[static_cast<size_t>(kind)]; bytes > 0)
      summary.bytes_by_kind.emplace(name, bytes);
  summary.bytes_early = finished.wire.bytes_early;
  summary.resends = finished.wire.resends;
  summary.rate_reductions = finished.reductions;
  summary.left_out = finished.figures.left_out;
  summary.trainers = records_of(finished.figures);
  if (finished.seconds > 0)
    summary.samples_per_second = static_cast<double>(summary.samples) / finished.seconds;
  if (finished.is_best)
    summary.best_version = finished.version;
  const auto row = std::ranges::find(finished.history, finished.version, &history_row::steps);
  if (row != finished.history.end())
    static_cast<result_figures&>(summary) = *row;
  else if (!finished.history.empty() &&
           finished.reason == static_cast<uint8_t>(stop_reason::diverged))
    static_cast<result_figures&>(summary) = finished.history.back(); // it ended between rows
}

// Hides the work and traffic of a private run: they would reveal which clients took part.
void hide_work(training_finished& x) {
  x.replicas.assign(x.replicas.size(), {});
  x.wire = {};
  x.figures.replicas.clear();
  auto& clients = x.figures.clients;
  clients = {.rounds = clients.rounds, .privacy = clients.privacy};
}

} // namespace

void throw_if_failed(const training_finished& finished) {
  if (finished.failed)
    throw failure(static_cast<failure_code>(finished.failure), finished.problem, finished.where,
                  finished.hint);
}

stored_tensor pull_parameters(caf::scoped_actor& self, const director_actor& director) {
  stored_tensor result;
  self->request(director, pull_deadline, atom::pull_v)
    .receive([&](const trained_model& whole) { result = whole.parameters; },
             [&](const caf::error& problem) {
               throw failure(failure_code::internal,
                             "the result could not be fetched: " + self->system().render(problem));
             });
  return result;
}

training_result result_of(const job& resolved, std::shared_ptr<const prepared_data> data,
                          const model& network, const stored_tensor& parameters,
                          training_finished&& finished) {
  training_result result;
  result.resolved = resolved;
  result.layout = network.layout();
  result.parameters = parameters;
  auto& summary = result.summary;
  summary.job = resolved.name;
  summary.strategy = name_of(resolved.training.strategy);
  summary.replicas = *resolved.training.replicas;
  summary.slices = *resolved.training.slices;
  summary.parameters_sha256 = safetensors_data_sha256(result.layout, parameters);
  const auto identity = identity_of(resolved, *data);
  summary.job_sha256 = sha256_hex(std::as_bytes(std::span{identity}));
  summary.arithmetic = arithmetic_name;
  summary.reproducible = is_reproducible(resolved.training);
  summary.stopped_by = name_of(static_cast<stop_reason>(finished.reason));
  if (is_private(resolved))
    hide_work(finished);
  fill_figures(summary, finished, timeline_of(resolved, shape_of(*data)));
  if (resolved.federated.evaluate_clients)
    summary.client_figures = client_figures_of(resolved, data, network, parameters.values());
  if (resolved.training.threshold != threshold_kind::none)
    result.threshold = threshold_of(resolved, data, network, parameters.values());
  if (result.threshold)
    summary.threshold = result.threshold->probability;
  result.statistics = trainer_table(summary.trainers);
  result.history = std::move(finished.history);
  if (!finished.problem.empty())
    result.problem = std::move(finished.problem);
  result.data = std::move(data);
  return result;
}

status_watch::status_watch(caf::scoped_actor& self, director_actor director,
                           std::function<void(const training_status&)> tell)
  : self_(self), director_(std::move(director)), tell_(std::move(tell)) {}

void status_watch::tick() {
  if (moment::clock::now() >= next_)
    ask();
}

void status_watch::ask() {
  if (!tell_)
    return;
  self_->request(director_, answer_time_max, atom::status_v)
    .receive([this](const training_status& x) { tell_(x); },
             [](const caf::error&) {}); // the thread that waits notices a lost director itself
  next_ = moment::clock::now() + interval;
}

} // namespace troupe
