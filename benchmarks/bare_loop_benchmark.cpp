// Troupe beside a bare loop over cblas_sgemm: the same network, data and rule, in one program run.
//
//   build/bin/bare_loop_benchmark [BATCH_A_REPLICA [STEPS [ROUNDS]]]      default 128 300 7
//
// Prints the median over rounds of: the sgemm peak, the bare loop, Troupe with one and with two
// replicas (slices = replicas, batch = replicas x BATCH), as samples a second and as ratios.

#include "benchmarks/bare_loop.hpp"

#include "actors/run/train.hpp"
#include "data/training_rows/prepare.hpp"
#include "models/base/random.hpp"

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>

namespace troupe::benchmarks {

namespace {

constexpr size_t row_count = 12'800;
const std::vector<size_t> sizes{784, 512, 512, 10};

std::shared_ptr<const prepared_data> random_rows() {
  prepared_data data;
  auto& train = data.train;
  train.row_count = row_count;
  train.feature_count = sizes.front();
  train.features.resize(row_count * sizes.front());
  fill_uniform({2, random_purpose::synthetic_features, 0}, 0, 0, 1, train.features);
  for (size_t i = 0; i < row_count; ++i)
    train.labels.push_back(
      int32_t(random_word({2, random_purpose::synthetic_targets, 0}, i) % sizes.back()));
  for (size_t c = 0; c < sizes.back(); ++c)
    train.classes.push_back(std::to_string(c));
  return std::make_shared<const prepared_data>(std::move(data));
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

/// Samples a second of Troupe with `replicas` replicas on two threads.
double troupe_speed(const std::shared_ptr<const prepared_data>& data, size_t replicas, size_t batch,
                    size_t steps) {
  caf::actor_system_config config;
  configure(config);
  config.set("scheduler.max-threads", size_t{2});
  caf::actor_system system{config};
  job x;
  x.data.synthetic = synthetic_kind::classification; // not read: the data are given
  x.model.hidden = {512, 512};
  x.training.batch_size = batch * replicas;
  x.training.slices = replicas;
  x.training.replicas = replicas;
  x.training.epochs = 1'000'000;
  x.training.steps = steps;
  x.training.evaluate_every = 0;
  return train(system, x, data).summary.samples_per_second;
}

double bare_speed(bare_loop& loop, size_t batch, size_t steps) {
  const auto begin = std::chrono::steady_clock::now();
  loop.run(steps);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  return double(steps * batch) / seconds.count();
}

// Multiplications and additions of one sample's forward and backward pass.
double flops_per_sample() {
  double total = 0;
  for (size_t l = 0; l + 1 < sizes.size(); ++l)
    total += 2.0 * double(sizes[l] * sizes[l + 1]) * (l == 0 ? 2 : 3);
  return total;
}

void run(size_t batch, size_t steps, size_t rounds) {
  const auto data = random_rows();
  bare_loop loop{{sizes, batch}, data->train.features, data->train.labels};
  std::vector<double> peak, bare, one, two, one_ratio, two_ratio;
  bare_speed(loop, batch, steps / 4 + 1); // warm-up
  for (size_t round = 0; round < rounds; ++round) {
    peak.push_back(sgemm_peak_flops());
    bare.push_back(bare_speed(loop, batch, steps));
    one.push_back(troupe_speed(data, 1, batch, steps));
    two.push_back(troupe_speed(data, 2, batch, steps));
    one_ratio.push_back(one.back() / bare.back());
    two_ratio.push_back(two.back() / bare.back());
  }
  std::printf("network 784-512-512-10, batch %zu a replica, %zu steps, median of %zu rounds\n",
              batch, steps, rounds);
  std::printf("sgemm peak           %8.1f GFLOP/s, one thread\n", median(peak) / 1e9);
  std::printf("bare loop            %8.0f samples/s  %.2f of the peak\n", median(bare),
              median(bare) * flops_per_sample() / median(peak));
  std::printf("troupe, 1 replica    %8.0f samples/s  %.2f of the bare loop\n", median(one),
              median(one_ratio));
  std::printf("troupe, 2 replicas   %8.0f samples/s  %.2f of the bare loop\n", median(two),
              median(two_ratio));
}

size_t argument(int count, char** values, int index, size_t otherwise) {
  return count > index ? std::strtoul(values[index], nullptr, 10) : otherwise;
}

} // namespace

} // namespace troupe::benchmarks

int main(int count, char** values) {
  using troupe::benchmarks::argument;
  troupe::benchmarks::run(argument(count, values, 1, 128), argument(count, values, 2, 300),
                          argument(count, values, 3, 7));
}
