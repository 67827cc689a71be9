#include "models/privacy/accountant.hpp"

#include "models/base/require.hpp"
#include "models/math/elementary.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace troupe {

namespace {

constexpr requirement require{"privacy accountant"};

/// ln n! for n up to the greatest order.
const std::array<double, privacy_order_max + 1>& log_factorials() {
  static const auto table = [] {
    std::array<double, privacy_order_max + 1> result{};
    for (size_t n = 1; n < result.size(); ++n)
      result[n] = result[n - 1] + elementary::log(static_cast<double>(n));
    return result;
  }();
  return table;
}

/// ln of a sum of e^term.
double log_sum(const std::vector<double>& terms) {
  const auto most = *std::ranges::max_element(terms);
  double sum = 0;
  for (const auto term : terms)
    sum += elementary::exp_double(term - most);
  return most + elementary::log(sum);
}

double divergence_of(const release_kind& kind, size_t order) {
  const auto a = static_cast<double>(order);
  const double twice_variance = 2 * kind.noise * kind.noise;
  if (kind.sampling_rate == 1)
    return a / twice_variance;
  const auto& factorials = log_factorials();
  const double in = elementary::log(kind.sampling_rate);
  const double out = elementary::log1p(-kind.sampling_rate);
  std::vector<double> terms;
  for (size_t k = 0; k <= order; ++k) {
    const auto n = static_cast<double>(k);
    terms.push_back(factorials[order] - factorials[k] - factorials[order - k] + (a - n) * out +
                    n * in + (n * n - n) / twice_variance);
  }
  return log_sum(terms) / (a - 1);
}

} // namespace

privacy_accountant::privacy_accountant(double delta) : delta_(delta) {
  require(delta > 0 && delta < 1, "delta must be above 0 and below 1");
}

privacy_accountant::releases& privacy_accountant::releases_of(const release_kind& kind) {
  const auto found = std::ranges::find(all_, kind, &releases::kind);
  if (found != all_.end())
    return *found;
  auto& result = all_.emplace_back(releases{kind, 0, {}});
  for (auto order = privacy_order_min; order <= privacy_order_max; ++order)
    result.of_one[order] = divergence_of(kind, order);
  return result;
}

void privacy_accountant::add(const release_kind& kind, uint64_t count) {
  require(kind.sampling_rate > 0 && kind.sampling_rate <= 1,
          "the sampling rate must be above 0 and at most 1");
  require(kind.noise > 0 && std::isfinite(kind.noise), "the noise must be above 0");
  if (count > 0)
    releases_of(kind).count += count;
}

double privacy_accountant::epsilon() const {
  if (all_.empty())
    return 0;
  double least = std::numeric_limits<double>::infinity();
  const double log_delta = elementary::log(delta_);
  for (auto order = privacy_order_min; order <= privacy_order_max; ++order) {
    const auto a = static_cast<double>(order);
    double total = 0;
    for (const auto& some : all_)
      total += static_cast<double>(some.count) * some.of_one[order];
    const double bound =
      total + elementary::log((a - 1) / a) - (log_delta + elementary::log(a)) / (a - 1);
    least = std::min(least, bound);
  }
  return std::max(least, 0.0);
}

uint64_t release_count_within(double epsilon, double delta, const release_kind& kind,
                              uint64_t limit) {
  const auto is_within = [&](uint64_t count) {
    privacy_accountant accountant{delta};
    accountant.add(kind, count);
    return accountant.epsilon() <= epsilon;
  };
  uint64_t low = 0, high = limit; // the answer is in [low, high]
  while (low < high) {
    const auto middle = low + (high - low) / 2 + (high - low) % 2;
    if (is_within(middle))
      low = middle;
    else
      high = middle - 1;
  }
  return low;
}

double noise_for(double epsilon, double delta, double sampling_rate, uint64_t count) {
  const auto is_enough = [&](double noise) {
    privacy_accountant accountant{delta};
    accountant.add({sampling_rate, noise}, count);
    return accountant.epsilon() <= epsilon;
  };
  double high = 0x1p-6;
  while (!is_enough(high)) {
    high *= 2;
    require(high <= 0x1p20, "no noise is enough for such an epsilon");
  }
  double low = high / 2;
  while (high - low > high / 1000) {
    const double middle = (low + high) / 2;
    (is_enough(middle) ? high : low) = middle;
  }
  return high;
}

} // namespace troupe
