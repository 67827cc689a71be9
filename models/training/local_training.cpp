#include "models/training/local_training.hpp"

#include "models/base/copy_values.hpp"
#include "models/base/multiversion.hpp"
#include "models/whole_model/whole_model_rule.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <utility>

namespace troupe {

namespace {

TROUPE_MULTIVERSION void add_pull(float* __restrict gradient, const float* __restrict here,
                                  const float* __restrict start, float factor, size_t count) {
  for (size_t i = 0; i < count; ++i)
    gradient[i] += factor * (here[i] - start[i]);
}

/// The gradient alone: there is nothing to add it to.
const reduction_plan only_gradient{{0}};

} // namespace

void local_training::begin(std::span<const float> start, const local_training_memory& memory) {
  memory_ = memory;
  start_ = start;
  for (const auto* one : {&memory_.here, &memory_.there, &memory_.gradient})
    if (one->size() != start.size())
      throw std::invalid_argument("local training: memory of another size than the model's");
  begin_again();
}

void local_training::begin_again() {
  sums_ = {};
  copy_values(start_, memory_.here.values().begin());
}

bool local_training::step(const batch& rows, const local_step_numbers& numbers,
                          const optimizer_state& state) {
  const auto here = memory_.here.values();
  const auto gradient = memory_.gradient.values();
  const auto& [network, rule, changes, proximal] = options_;
  const auto sums = network->gradient(here, rows, gradient, scratch_);
  sums_ = sums_ + sums;
  if (!std::isfinite(sums.loss_sum))
    return false;
  if (proximal > 0)
    add_pull(gradient.data(), here.data(), start_.data(),
             static_cast<float>(proximal * static_cast<double>(sums.sample_count)), here.size());
  float factor = 1;
  if (changes.norm_max() > 0) {
    const auto squares = square_sums_of_blocks(gradient, mean_factor(sums.sample_count));
    const auto whole = std::accumulate(squares.begin(), squares.end(), 0.0);
    if (!std::isfinite(whole))
      return false;
    factor = static_cast<float>(changes.norm_factor(whole));
  }
  auto figures = rule->begin_step(numbers.rule, sums.sample_count, direction::descent);
  if (numbers.schedule != numbers.rule)
    figures.learning_rate =
      rule->begin_step(numbers.schedule, sums.sample_count, direction::descent).learning_rate;
  const std::array<std::span<const float>, 1> inputs{gradient};
  const bool is_finite =
    reducer_.reduce_and_update(only_gradient, inputs, *rule, figures, state, here,
                               memory_.there.values(), {&changes, 0, factor});
  std::swap(memory_.here, memory_.there);
  return is_finite;
}

} // namespace troupe
