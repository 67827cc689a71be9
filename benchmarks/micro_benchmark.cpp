// Where a step's time goes, part by part, on one thread and without actors.
//
//   build/bin/micro_benchmark [--benchmark_filter=step]
//
// The network is that of the other benchmarks, 784-512-512-10. `items_per_second` counts samples;
// for what works on parameters alone `bytes_per_second` counts the memory it reads and writes.

#include "benchmarks/bare_loop.hpp"

#include "data/training_rows/batch_reader.hpp"
#include "models/base/random.hpp"
#include "models/math/reduction.hpp"
#include "models/network/neural_network.hpp"
#include "models/optimizers/optimizer.hpp"

#include <benchmark/benchmark.h>
#include <cblas.h>

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>
#include <ranges>

namespace {

using namespace troupe;

constexpr size_t feature_count = 784;
constexpr size_t class_count = 10;
constexpr size_t row_count = 12'800;
const std::vector<size_t> hidden{512, 512};

const dataset& random_rows() {
  static const dataset result = [] {
    dataset rows;
    rows.row_count = row_count;
    rows.feature_count = feature_count;
    rows.features.resize(row_count * feature_count);
    fill_uniform({2, random_purpose::synthetic_features, 0}, 0, 0, 1, rows.features);
    for (size_t i = 0; i < row_count; ++i)
      rows.labels.push_back(static_cast<int32_t>(
        random_word({2, random_purpose::synthetic_targets, 0}, i) % class_count));
    for (size_t c = 0; c < class_count; ++c)
      rows.classes.push_back(std::to_string(c));
    return rows;
  }();
  return result;
}

neural_network network() {
  neural_network_options options;
  options.features = feature_count;
  options.outputs = class_count;
  options.hidden = hidden;
  return neural_network{options};
}

std::vector<uint32_t> shuffled_rows() {
  std::vector<uint32_t> result(row_count);
  std::iota(result.begin(), result.end(), 0u);
  for (size_t i = row_count; i > 1; --i)
    std::swap(result[i - 1], result[random_word({3, random_purpose::synthetic_targets, 0}, i) % i]);
  return result;
}

size_t rows_of(const benchmark::State& state) {
  return static_cast<size_t>(state.range(0));
}

void count_samples(benchmark::State& state) {
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

void count_bytes(benchmark::State& state, size_t values) {
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(values * sizeof(float)));
}

/// Batches of the shuffled rows, one after the other, for ever.
class batches {
public:
  explicit batches(size_t size) : size_(size) {}
  batch next() {
    if (at_ + size_ > order_.size())
      at_ = 0;
    at_ += size_;
    return reader_.gather(random_rows(), std::span{order_}.subspan(at_ - size_, size_));
  }

private:
  size_t size_;
  size_t at_ = 0;
  std::vector<uint32_t> order_ = shuffled_rows();
  batch_reader reader_;
};

/// The yardstick: a bare loop, for the samples a second of the same batch.
void bare_step(benchmark::State& state) {
  benchmarks::bare_loop loop{{{feature_count, hidden[0], hidden[1], class_count}, rows_of(state)},
                             random_rows().features,
                             random_rows().labels};
  for (auto _ : state)
    benchmark::DoNotOptimize(loop.run(1));
  count_samples(state);
}

/// What one replica and one shard do in a step: gather, gradient, update.
void step(benchmark::State& state) {
  const auto model = network();
  const auto rule = make_optimizer({});
  buffer_pool pool{model.layout().size()};
  auto current = pool.acquire();
  auto next = pool.acquire();
  const auto gradient = pool.acquire();
  model.initialize(1, current.values());
  workspace memory;
  reducer sums;
  batches source{rows_of(state)};
  const optimizer_state nothing;
  uint64_t t = 0;
  for (auto _ : state) {
    model.gradient(current.values(), source.next(), gradient.values(), memory);
    const std::array<std::span<const float>, 1> inputs{gradient.values()};
    const auto figures = rule->begin_step(t++, rows_of(state), direction::descent);
    sums.reduce_and_update({{0}}, inputs, *rule, figures, nothing, current.values(), next.values());
    std::swap(current, next);
  }
  count_samples(state);
}

void gather(benchmark::State& state) {
  batches source{rows_of(state)};
  for (auto _ : state)
    benchmark::DoNotOptimize(source.next().features.data());
  count_samples(state);
}

void gradient(benchmark::State& state) {
  const auto model = network();
  const buffer parameters{model.layout().size()};
  const buffer out{model.layout().size()};
  model.initialize(1, parameters.values());
  workspace memory;
  const auto rows = batch_of_rows(random_rows(), 0, rows_of(state));
  for (auto _ : state)
    benchmark::DoNotOptimize(model.gradient(parameters.values(), rows, out.values(), memory));
  count_samples(state);
}

void evaluate(benchmark::State& state) {
  const auto model = network();
  const buffer parameters{model.layout().size()};
  model.initialize(1, parameters.values());
  workspace memory;
  const auto rows = batch_of_rows(random_rows(), 0, rows_of(state));
  for (auto _ : state)
    benchmark::DoNotOptimize(model.evaluate(parameters.values(), rows, memory));
  count_samples(state);
}

/// Adds `range` gradients along the tree and applies the rule.
void update(benchmark::State& state, optimizer_kind kind) {
  const auto size = network().layout().size();
  optimizer_options options;
  options.kind = kind;
  const auto rule = make_optimizer(options);
  const optimizer_state slots{rule->slot_count(), size};
  const buffer current{size};
  const buffer next{size};
  std::vector<buffer> gradients;
  std::vector<std::span<const float>> inputs;
  reduction_plan plan;
  for (int i = 0; i < state.range(0); ++i) {
    inputs.push_back(gradients.emplace_back(size).values());
    plan.operations.push_back(i);
    if (i > 0)
      plan.operations.push_back(reduction_plan::add);
  }
  reducer sums;
  uint64_t t = 0;
  for (auto _ : state)
    sums.reduce_and_update(plan, inputs, *rule, rule->begin_step(t++, 128, direction::descent),
                           slots, current.values(), next.values());
  count_bytes(state, (inputs.size() + 2 + 2 * rule->slot_count()) * size);
}

} // namespace

BENCHMARK(bare_step)->Arg(128)->Arg(32)->Arg(8)->Arg(16);
BENCHMARK(step)->Arg(128)->Arg(32)->Arg(8)->Arg(16);
BENCHMARK(gather)->Arg(128)->Arg(8);
BENCHMARK(gradient)->Arg(128)->Arg(32)->Arg(8)->Arg(16);
BENCHMARK(evaluate)->Arg(256);
BENCHMARK_CAPTURE(update, sgd, optimizer_kind::sgd)->Arg(1)->Arg(2)->Arg(8);
BENCHMARK_CAPTURE(update, adam, optimizer_kind::adam)->Arg(1)->Arg(2);

BENCHMARK_MAIN();
