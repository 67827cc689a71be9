// What the hardware and plain code do, for `benchmarks/compare`: one figure an invocation, so that
// it can be taken in turns with what it is compared to.
//
//   build/bin/bare_workloads mlp BATCH [SLICES]     samples/s of a bare loop on one thread
//   build/bin/bare_workloads peak                   FLOP/s of one large product, one thread
//   build/bin/bare_workloads read THREADS           bytes/s read from memory
//
// Prints {"value": ..., "core": whose kernels OpenBLAS uses}.

#include "benchmarks/bare_loop.hpp"

#include "models/base/random.hpp"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace {

using namespace troupe;
using namespace troupe::benchmarks;

constexpr size_t row_count = 12'800;
constexpr double seconds_min = 1;

/// Random rows of the 784-512-512-10 network, for about a second.
double samples_per_second(size_t batch, size_t slices) {
  const std::vector<size_t> sizes{784, 512, 512, 10};
  std::vector<float> features(row_count * sizes.front());
  fill_uniform({2, random_purpose::synthetic_features, 0}, 0, 0, 1, features);
  std::vector<int32_t> labels;
  for (size_t i = 0; i < row_count; ++i)
    labels.push_back(static_cast<int32_t>(
      random_word({2, random_purpose::synthetic_targets, 0}, i) % sizes.back()));
  bare_loop loop{{sizes, batch, slices}, features, labels};
  loop.run(20); // warm-up
  size_t steps = 0;
  const auto begin = std::chrono::steady_clock::now();
  std::chrono::duration<double> seconds{};
  for (; seconds.count() < seconds_min; steps += 20) {
    loop.run(20);
    seconds = std::chrono::steady_clock::now() - begin;
  }
  return static_cast<double>(steps * batch) / seconds.count();
}

size_t argument(int count, char** values, int index, size_t otherwise) {
  return count > index ? std::strtoul(values[index], nullptr, 10) : otherwise;
}

double figure(int count, char** values) {
  const std::string what = count > 1 ? values[1] : "";
  if (what == "mlp")
    return samples_per_second(argument(count, values, 2, 128), argument(count, values, 3, 1));
  if (what == "peak")
    return sgemm_peak_flops();
  if (what == "read")
    return read_bytes_per_second(argument(count, values, 2, 1));
  return 0;
}

} // namespace

int main(int count, char** values) {
  const double value = figure(count, values);
  if (value <= 0) {
    std::fprintf(stderr, "usage: bare_workloads mlp BATCH [SLICES] | peak | read THREADS\n");
    return 2;
  }
  std::printf("{\"value\": %.9g, \"core\": \"%s\"}\n", value, openblas_core());
}
