#include "models/merging/outer_rule.hpp"

#include "models/base/copy_values.hpp"
#include "models/base/require.hpp"
#include "models/math/lanes.hpp"

#include <algorithm>
#include <cmath>

namespace troupe {

namespace {

constexpr requirement require_outer{"outer rule"};

bool is_adaptive(const outer_options& x) {
  return x.kind == outer_kind::adam || x.kind == outer_kind::yogi;
}

bool has_first(const outer_options& x) {
  return is_adaptive(x) || (x.kind == outer_kind::sgd && x.momentum > 0);
}

double sign_of(double x) {
  return x > 0 ? 1 : x < 0 ? -1 : 0;
}

} // namespace

outer_rule::outer_rule(const outer_options& options, size_t parameter_count)
  : options_(options), size_(parameter_count) {
  rate_ = options.learning_rate.value_or(is_adaptive(options) ? 0.01 : 1);
  require_outer(rate_ > 0 && std::isfinite(rate_), "learning_rate must be positive");
  require_outer(options.momentum >= 0 && options.momentum < 1, "momentum must be in [0, 1)");
  require_outer(!options.nesterov || options.momentum > 0, "nesterov needs a momentum above 0");
  require_outer(options.beta1 >= 0 && options.beta1 < 1, "beta1 must be in [0, 1)");
  require_outer(options.beta2 >= 0 && options.beta2 < 1, "beta2 must be in [0, 1)");
  require_outer(options.tau > 0 && std::isfinite(options.tau), "tau must be positive");
  if (has_first(options))
    first_.assign(parameter_count, 0);
  if (is_adaptive(options))
    second_.assign(parameter_count, options.tau * options.tau);
}

bool outer_rule::apply(std::span<const float> main, std::span<const float> merged,
                       std::span<float> next) {
  require_outer(main.size() == size_ && merged.size() == size_ && next.size() == size_,
                "the models have another number of parameters than it was made for");
  auto first = first_;
  auto second = second_;
  std::vector<float> result(size_);
  for (size_t i = 0; i < size_; ++i)
    result[i] =
      options_.kind == outer_kind::replace
        ? merged[i]
        : static_cast<float>(static_cast<double>(main[i]) +
                             move(i, static_cast<double>(merged[i]) - main[i], first, second));
  if (!all_finite(result.data(), size_))
    return false;
  first_ = std::move(first);
  second_ = std::move(second);
  copy_values(result, next.begin());
  return true;
}

state_shape outer_rule::shape_of(const outer_options& options) {
  return {vectors_of_doubles * ((has_first(options) ? 1 : 0) + (is_adaptive(options) ? 1 : 0)), 0};
}

void outer_rule::save(state_saver& out) const {
  if (has_first(options_))
    out.copy(std::span<const double>{first_});
  if (is_adaptive(options_))
    out.copy(std::span<const double>{second_});
}

void outer_rule::load(state_loader& in) {
  const auto next = [&] {
    auto result = in.doubles();
    require_outer(result.size() == size_, "a saved moment has another number of parameters");
    return result;
  };
  if (has_first(options_))
    first_ = next();
  if (is_adaptive(options_))
    second_ = next();
}

double outer_rule::move(size_t i, double d, std::vector<double>& first,
                        std::vector<double>& second) const {
  if (!is_adaptive(options_)) {
    if (first.empty())
      return rate_ * d;
    first[i] = options_.momentum * first[i] + d;
    return rate_ * (options_.nesterov ? d + options_.momentum * first[i] : first[i]);
  }
  const double square = d * d, rest = 1 - options_.beta2;
  first[i] = options_.beta1 * first[i] + (1 - options_.beta1) * d;
  second[i] = options_.kind == outer_kind::adam
                ? options_.beta2 * second[i] + rest * square
                : second[i] - rest * square * sign_of(second[i] - square);
  return rate_ * first[i] / (std::sqrt(second[i]) + options_.tau);
}

} // namespace troupe
