// A device beside the processor (one thread): gradients of 784-2048-2048-10 at 1,024 rows, and the products in them.
//
//   device_benchmark [DEVICE] [ROWS] [ROUNDS]     a number or a part of a name, as runtime.device (0); 1024; 5
//
// ROUNDS 0: each gradient once and no more, for device_counts.
// Prints medians: samples a second of both with the hash of the gradient, which has to be one; GFLOP/s of products; how
// long parameters take to go there and a gradient takes to come back. With the device's peak (`TROUPE_PEAK_TFLOPS`, as
// its maker states it) also its share.

#include "models/base/bit_hash.hpp"
#include "models/device/device_model.hpp"
#include "models/device/device_queue.hpp"
#include "models/math/products.hpp"
#include "models/network/neural_network.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

using namespace troupe;

/// Seconds, the median of so many.
template <class Work>
double median_of(int rounds, const Work& work) {
  std::vector<double> found{1};
  work();
  if (rounds > 0)
    found.clear();
  for (int round = 0; round < rounds; ++round) {
    const auto begin = std::chrono::steady_clock::now();
    work();
    found.push_back(
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  std::ranges::sort(found);
  return found[found.size() / 2];
}

void tell_speed(const char* what, double flops, double seconds) {
  const auto gflops = 1e-9 * flops / seconds;
  std::printf("%s: %.1f GFLOP/s", what, gflops);
  if (const char* peak = std::getenv("TROUPE_PEAK_TFLOPS"))
    std::printf(", %.2f of the peak", gflops / (1000 * std::atof(peak)));
  std::printf("\n");
}

int measure(const char* choice, size_t row_count, int rounds) {
  neural_network_options x;
  x.features = 784;
  x.outputs = 10;
  x.hidden = {2048, 2048};
  x.activation = activation_kind::relu;
  const auto network = std::make_shared<neural_network>(x);
  const auto facts = devices_called(choice).at(0);
  const auto where = open_device(facts);
  const device_model there{network, {where}};
  std::printf("%s (%s)\n", facts.name.c_str(), facts.platform.c_str());

  std::vector<float> parameters(network->layout().size()), gradient(parameters.size());
  network->initialize(1, parameters);
  const auto features = made_values(5, 1, row_count * x.features, 0, 1);
  std::vector<int32_t> labels(row_count);
  for (size_t i = 0; i < row_count; ++i)
    labels[i] = static_cast<int32_t>(i % 10);
  batch rows;
  rows.row_count = row_count;
  rows.features = features;
  rows.labels = labels;
  const double layers = 784.0 * 2048 + 2048.0 * 2048 + 2048.0 * 10;
  const auto flops = 2.0 * static_cast<double>(row_count) * (3 * layers - 784.0 * 2048);
  std::string hashes[2];
  for (const bool on_device : {false, true}) {
    workspace memory;
    uint64_t step = 0;
    const model& computes = on_device ? static_cast<const model&>(there) : *network;
    const auto took = median_of(rounds, [&] {
      memory.set_version(++step); // other parameters each time
      computes.gradient(parameters, rows, gradient, memory);
    });
    bit_hash hash;
    hash.add(gradient);
    hashes[on_device ? 1 : 0] = hash.hex();
    std::printf("%s: %.0f samples/s, gradient %s\n", on_device ? "device" : "processor, one thread",
                static_cast<double>(row_count) / took, hash.hex().c_str());
    tell_speed("  in all", flops, took);
  }

  const int differ = hashes[0] == hashes[1] ? 0 : 1;
  if (rounds == 0)
    return differ;
  const auto queue = device_queue::make(where);
  const auto a = queue->make_buffer(row_count * 2048), w = queue->make_buffer(2048 * 2048),
             out = queue->make_buffer(std::max<size_t>(row_count, 2048) * 2048),
             all = queue->make_buffer(parameters.size());
  using products::matrix_of, products::result_of;
  const auto rows_by_units = matrix_of(a.values().data(), row_count, 2048);
  const auto weight = matrix_of(w.values().data(), 2048, 2048);
  const auto tell_product = [&](const char* what, const auto& left, const auto& right) {
    constexpr int count = 10;
    const auto took = median_of(rounds, [&] {
      for (int i = 0; i < count; ++i)
        products::multiply(left, right, result_of(out.values().data(), left.rows, right.columns));
      queue->copy_of(out.values().first(1));
    });
    tell_speed(what, 2.0 * static_cast<double>(left.rows * left.columns * right.columns) * count,
               took);
  };
  tell_product("forward product", rows_by_units, weight.transposed());
  tell_product("backward product", rows_by_units, weight);
  tell_product("gradient product", rows_by_units.transposed(), rows_by_units);
  const auto gigabytes = 4e-9 * static_cast<double>(parameters.size());
  std::printf("parameters go there at %.1f GB/s",
              gigabytes / median_of(rounds, [&] { queue->upload(parameters, all.values()); }));
  std::printf(", and come back at %.1f GB/s\n",
              gigabytes / median_of(rounds, [&] { queue->download(all.values(), gradient); }));
  return differ;
}

} // namespace

int main(int count, char** words) {
  try {
    return measure(count > 1 ? words[1] : "0", count > 2 ? std::stoul(words[2]) : 1024,
                   count > 3 ? std::atoi(words[3]) : 5);
  } catch (const std::exception& problem) {
    std::fprintf(stderr, "device_benchmark: %s\n", problem.what());
    return 2;
  }
}
