#include "benchmarks/bare_federation.hpp"

#include <cmath>
#include <thread>

namespace troupe::benchmarks {

namespace {

constexpr double scale = 0x1p28;

struct share_sums {
  std::vector<int64_t> words;
  uint64_t weight = 0;
};

share_sums train_clients(const dataset& rows, const client_rows& clients,
                         std::span<const uint32_t> cohort, const std::vector<float>& start,
                         float learning_rate) {
  const auto features = rows.feature_count;
  share_sums sums{std::vector<int64_t>(start.size())};
  std::vector<float> gradient(start.size());
  for (const auto client : cohort) {
    std::fill(gradient.begin(), gradient.end(), 0.0f);
    const auto own = clients.of(client);
    for (const auto row : own) {
      const float* const x = rows.features.data() + row * features;
      float error = start[features] - rows.targets[row];
      for (size_t j = 0; j < features; ++j)
        error += x[j] * start[j];
      for (size_t j = 0; j < features; ++j)
        gradient[j] += 2 * error * x[j];
      gradient[features] += 2 * error;
    }
    const float rate = learning_rate / static_cast<float>(own.size());
    const double factor = static_cast<double>(own.size()) * scale;
    for (size_t j = 0; j < start.size(); ++j) {
      const float moved = start[j] - rate * gradient[j];
      sums.words[j] += static_cast<int64_t>(
        std::nearbyint((static_cast<double>(moved) - static_cast<double>(start[j])) * factor));
    }
    sums.weight += own.size();
  }
  return sums;
}

} // namespace

std::vector<float> bare_round(const dataset& rows, const client_rows& clients,
                              std::span<const uint32_t> cohort, const std::vector<float>& start,
                              float learning_rate, size_t threads) {
  std::vector<share_sums> sums(threads);
  {
    std::vector<std::jthread> running;
    for (size_t i = 0; i < threads; ++i)
      running.emplace_back([&, i] {
        const auto begin = cohort.size() * i / threads;
        sums[i] = train_clients(rows, clients,
                                cohort.subspan(begin, cohort.size() * (i + 1) / threads - begin),
                                start, learning_rate);
      });
  }
  auto result = start;
  uint64_t weight = 0;
  for (const auto& share : sums)
    weight += share.weight;
  for (size_t j = 0; j < result.size(); ++j) {
    int64_t sum = 0;
    for (const auto& share : sums)
      sum += share.words[j];
    result[j] += static_cast<float>(static_cast<double>(sum) / scale / static_cast<double>(weight));
  }
  return result;
}

} // namespace troupe::benchmarks
