// Federated rounds beside a bare loop: the same rows, clients, model and rule, in one program run.
//
//   build/bin/federated_benchmark [CLIENTS [COHORT [ROUNDS]]]      default 1000000 100000 20
//
// Each client has five rows of nine features. Prints clients' updates a second of two bare loops (without
// drawing cohorts, which we do), of Troupe with two replicas, and their ratio, each the median of
// five measurements taken in turns; then the same as an object.

#include "benchmarks/bare_federation.hpp"

#include "actors/run/job_data.hpp"
#include "actors/run/train.hpp"
#include "coordinators/job/federated_job.hpp"
#include "coordinators/job/resolve.hpp"
#include "data/training_rows/client_partition.hpp"

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>

namespace troupe::benchmarks {

namespace {

constexpr size_t rows_of_client = 5;
constexpr size_t features = 9;
constexpr size_t threads = 2;
constexpr size_t measurements = 5;

job job_of(size_t clients, size_t cohort, size_t rounds) {
  job x;
  x.data.synthetic = synthetic_kind::regression;
  x.data.rows = clients * rows_of_client;
  x.data.features = features;
  x.data.test_fraction = 0;
  x.model.kind = model_kind::linear_regression;
  x.optimizer.learning_rate = 0.05;
  x.training.strategy = strategy_kind::federated;
  x.training.batch_size = 8;
  x.training.replicas = threads;
  x.training.evaluate_every = 0;
  x.federated.clients = clients;
  x.federated.cohort = cohort;
  x.federated.rounds = rounds;
  return x;
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

struct measured {
  double updates_per_second = 0;
  std::vector<float> parameters;
};

measured ours(const job& x, const std::shared_ptr<const prepared_data>& data) {
  caf::actor_system_config config;
  configure(config);
  config.set("scheduler.max-threads", threads);
  caf::actor_system system{config};
  const auto result = train(system, x, data);
  const auto values = result.parameters.values();
  return {static_cast<double>(result.summary.clients->updates) / result.summary.seconds,
          {values.begin(), values.end()}};
}

measured bare(const job& x, const prepared_data& data, const client_rows& clients,
              const std::vector<std::vector<uint32_t>>& cohorts, const std::vector<float>& start) {
  auto parameters = start;
  size_t updates = 0;
  const auto begin = std::chrono::steady_clock::now();
  for (const auto& cohort : cohorts) {
    parameters = bare_round(data.train, clients, cohort, parameters,
                            static_cast<float>(*x.optimizer.learning_rate), threads);
    updates += cohort.size();
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  return {static_cast<double>(updates) / seconds.count(), parameters};
}

// Both have to have done the same work.
double difference(const measured& a, const measured& b) {
  double result = 0;
  for (size_t j = 0; j < a.parameters.size(); ++j)
    result = std::max(result, std::abs(static_cast<double>(a.parameters[j] - b.parameters[j])));
  return result;
}

void run(size_t client_count, size_t cohort_size, size_t rounds) {
  const auto x = job_of(client_count, cohort_size, rounds);
  const auto data = load_data(x);
  const auto clients = partition_rows(partition_of(x), data->train.row_count, {});
  std::vector<std::vector<uint32_t>> cohorts;
  for (size_t round = 0; round < rounds; ++round)
    cohorts.push_back(cohort_of(federated_options_of(x).cohort, clients.offsets, round).counted);
  const auto network = make_model(resolve(x, shape_of(*data), threads), shape_of(*data));
  std::vector<float> start(network->layout().size());
  network->initialize(x.seed, start);
  std::vector<double> ours_rates, bare_rates, ratios;
  double apart = 0;
  for (size_t i = 0; i < measurements; ++i) {
    const auto of_bare = bare(x, *data, clients, cohorts, start);
    const auto of_ours = ours(x, data);
    apart = std::max(apart, difference(of_bare, of_ours));
    bare_rates.push_back(of_bare.updates_per_second);
    ours_rates.push_back(of_ours.updates_per_second);
    ratios.push_back(ours_rates.back() / bare_rates.back());
  }
  std::printf("%zu clients of %zu rows of %zu features, %zu a round, %zu rounds\n", client_count,
              rows_of_client, features, cohort_size, rounds);
  std::printf("two bare loops       %10.0f updates/s\n", median(bare_rates));
  std::printf("troupe, 2 replicas   %10.0f updates/s  %.2f of the bare loops\n", median(ours_rates),
              median(ratios));
  std::printf("{\"updates\": %.0f, \"bare\": %.0f, \"ratio\": %.3f, \"apart\": %.3g}\n",
              median(ours_rates), median(bare_rates), median(ratios), apart);
}

size_t argument(int count, char** values, int index, size_t otherwise) {
  return count > index ? std::strtoul(values[index], nullptr, 10) : otherwise;
}

} // namespace

} // namespace troupe::benchmarks

int main(int count, char** values) {
  using troupe::benchmarks::argument;
  troupe::benchmarks::run(argument(count, values, 1, 1'000'000),
                          argument(count, values, 2, 100'000), argument(count, values, 3, 20));
}
