#include "models/merging/robust.hpp"

#include "models/math/lanes.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <string>

namespace troupe {

namespace {

// Each parameter's n values in ascending order, for `take` to make one of.
template <class Take>
std::vector<float> by_coordinate(const char* rule, model_list models, Take take) {
  require_mergeable(rule, models);
  std::vector<float> result(models.front().size());
  std::vector<float> values(models.size());
  for (size_t i = 0; i < result.size(); ++i) {
    for (size_t k = 0; k < models.size(); ++k)
      values[k] = models[k][i];
    std::ranges::sort(values);
    result[i] = static_cast<float>(take(values));
  }
  return result;
}

template <class A, class B>
double square_distance(const A& a, const B& b) {
  return lane_sum<double>(a.size(), [&](size_t i) {
    const double difference = static_cast<double>(a[i]) - static_cast<double>(b[i]);
    return difference * difference;
  });
}

std::vector<double> sorted_square_distances(model_list models, size_t from) {
  std::vector<double> result;
  for (size_t j = 0; j < models.size(); ++j)
    if (j != from)
      result.push_back(square_distance(models[from], models[j]));
  std::ranges::sort(result);
  return result;
}

// One step from y; what it needs of each model is its weight over its distance.
struct weiszfeld {
  model_list models;
  std::span<const double> weights;
  std::vector<double> distances{};

  double mean_distance(const std::vector<double>& y) {
    double sum = 0, weight_sum = 0;
    distances.clear();
    for (size_t k = 0; k < models.size(); ++k) {
      distances.push_back(std::sqrt(square_distance(models[k], y)));
      sum += weights[k] * distances.back();
      weight_sum += weights[k];
    }
    return sum / weight_sum;
  }

  std::vector<double> next(const std::vector<double>& y) const {
    std::vector<double> target(y.size());
    double attraction = 0, here = 0; // of the models elsewhere; weight of those at y
    for (size_t k = 0; k < models.size(); ++k) {
      if (distances[k] == 0) {
        here += weights[k];
        continue;
      }
      const double share = weights[k] / distances[k];
      attraction += share;
      for (size_t i = 0; i < y.size(); ++i)
        target[i] += share * static_cast<double>(models[k][i]);
    }
    if (attraction == 0)
      return y; // all weight is here
    for (auto& value : target)
      value /= attraction;
    if (here == 0)
      return target;
    // The models here hold y back with their weight, the others pull with |R|, R = attraction
    // (target - y).
    const double pull = attraction * std::sqrt(square_distance(target, y));
    const double stay = pull <= here ? 1 : here / pull;
    for (size_t i = 0; i < y.size(); ++i)
      target[i] = (1 - stay) * target[i] + stay * y[i];
    return target;
  }
};

} // namespace

std::vector<float> coordinate_median(model_list models) {
  return by_coordinate("coordinate median", models, [](const std::vector<float>& values) {
    const auto middle = values.size() / 2;
    if (values.size() % 2 == 1)
      return static_cast<double>(values[middle]);
    return (static_cast<double>(values[middle - 1]) + static_cast<double>(values[middle])) / 2;
  });
}

std::vector<float> trimmed_mean(model_list models, size_t trimmed_count) {
  const auto n = models.size();
  if (trimmed_count > n || n <= 2 * trimmed_count)
    throw std::invalid_argument("trimmed mean: nothing of " + std::to_string(n) +
                                " models is left without the " + std::to_string(trimmed_count) +
                                " least and greatest values");
  return by_coordinate("trimmed mean", models, [=](const std::vector<float>& values) {
    double sum = 0;
    for (size_t k = trimmed_count; k < n - trimmed_count; ++k)
      sum += static_cast<double>(values[k]);
    return sum / static_cast<double>(n - 2 * trimmed_count);
  });
}

std::vector<double> krum_scores(model_list models, size_t faulty_count) {
  require_mergeable("krum", models);
  const auto n = models.size();
  if (faulty_count > n || n <= 2 * faulty_count + 2)
    throw std::invalid_argument("krum: " + std::to_string(n) + " models cannot outvote " +
                                std::to_string(faulty_count) +
                                " faulty ones: it takes more than 2 x faulty + 2");
  std::vector<double> scores;
  for (size_t i = 0; i < n; ++i) {
    const auto distances = sorted_square_distances(models, i);
    double score = 0;
    for (size_t k = 0; k < n - faulty_count - 2; ++k)
      score += distances[k];
    scores.push_back(score);
  }
  return scores;
}

std::vector<float> krum(model_list models, size_t faulty_count) {
  return multi_krum(models, faulty_count, 1);
}

std::vector<float> multi_krum(model_list models, size_t faulty_count, size_t kept_count) {
  const auto scores = krum_scores(models, faulty_count);
  if (kept_count > models.size())
    throw std::invalid_argument("multi-krum: " + std::to_string(kept_count) + " of " +
                                std::to_string(models.size()) + " models cannot be kept");
  std::vector<size_t> order(models.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, {}, [&](size_t i) { return scores[i]; });
  order.resize(kept_count == 0 ? models.size() - faulty_count - 2 : kept_count);
  std::ranges::sort(order);
  std::vector<std::span<const float>> kept;
  for (auto i : order)
    kept.push_back(models[i]);
  return average(kept);
}

geometric_median_result geometric_median(model_list models, std::span<const double> weights,
                                         const geometric_median_options& options) {
  if (!(options.tolerance > 0))
    throw std::invalid_argument("geometric median: the tolerance must be positive");
  const auto start = weighted_sum(models, weights);
  std::vector<double> y(start.begin(), start.end());
  weiszfeld rule{models, weights};
  geometric_median_result result;
  while (!result.converged && result.steps < options.steps_max) {
    const double limit = options.tolerance * rule.mean_distance(y);
    auto next = rule.next(y);
    result.converged = std::sqrt(square_distance(next, y)) <= limit;
    ++result.steps;
    y = std::move(next);
  }
  result.values.assign(y.begin(), y.end());
  return result;
}

void flip_update(std::span<const float> start, double factor, std::span<float> values) {
  if (start.size() != values.size())
    throw std::invalid_argument("flip_update: the start and the model differ in size");
  for (size_t i = 0; i < values.size(); ++i) {
    const double moved = static_cast<double>(values[i]) - static_cast<double>(start[i]);
    values[i] = static_cast<float>(static_cast<double>(start[i]) - factor * moved);
  }
}

} // namespace troupe
