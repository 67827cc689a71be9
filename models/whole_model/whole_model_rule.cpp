#include "models/whole_model/whole_model_rule.hpp"

#include "models/math/tree_accumulator.hpp"

#include <algorithm>
#include <cmath>

namespace troupe {

void whole_model_rule::add_terms(const whole_model_update&, const optimizer_state&,
                                 const index_range&, std::span<double>) const {}

std::optional<batch_sums> update_alone(const whole_model_rule& rule, whole_model_update x,
                                       optimizer_state& state) {
  const auto count = rule.sum_count().value_or(0);
  const auto size = x.parameters.size();
  std::vector<double> numbers((size + norm_block_size - 1) / norm_block_size * count);
  for (size_t begin = 0; begin < size && count > 0 && x.is_finite; begin += norm_block_size)
    rule.add_terms(x, state, {begin, std::min(begin + norm_block_size, size)},
                   std::span{numbers}.subspan(begin / norm_block_size * count, count));
  const auto totals = totals_of_blocks(numbers, count);
  x.totals = totals;
  return rule.update(x, state);
}

namespace {

/// Numbers of a block; those of the rule follow.
enum block_number : size_t { not_finite, penalty, of_rule };

whole_model_update update_of(const whole_model_step& x) {
  return {x.step, x.total, 0, true, x.gradient, x.parameters, x.next};
}

} // namespace

size_t block_number_count(const whole_model_rule& rule) {
  return of_rule + rule.sum_count().value_or(0);
}

std::vector<double> begin_step(const whole_model_rule& rule, const whole_model_step& x,
                               const optimizer_state& state) {
  const auto slot = rule.point_slot();
  const auto point = slot ? std::span<const float>{state.slot(*slot)} : x.parameters;
  const auto count = block_number_count(rule);
  std::vector<double> result;
  for (size_t begin = 0; begin < x.gradient.size(); begin += norm_block_size) {
    const auto size = std::min(norm_block_size, x.gradient.size() - begin);
    const auto block = x.gradient.subspan(begin, size);
    result.resize(result.size() + count);
    const auto numbers = std::span{result}.last(count);
    // Looked at before clipping, which hides infinity.
    numbers[not_finite] = scale(block, mean_factor(x.total.sample_count), block) ? 0 : 1;
    x.changes.apply(block, point.data() + begin, x.first_element + begin, x.norm_factor);
    numbers[penalty] = x.changes.penalty(point.subspan(begin, size), x.first_element + begin);
    if (numbers[not_finite] == 0)
      rule.add_terms(update_of(x), state, {begin, begin + size}, numbers.subspan(of_rule));
  }
  return result;
}

bool blocks_are_finite(std::span<const double> numbers) {
  return numbers[not_finite] == 0;
}

std::optional<batch_sums> end_step(const whole_model_rule& rule, const whole_model_step& x,
                                   std::span<const double> totals, optimizer_state& state) {
  auto update = update_of(x);
  update.penalty = totals[penalty];
  update.is_finite = blocks_are_finite(totals) && std::isfinite(x.total.loss_sum);
  update.totals = totals.subspan(of_rule);
  return rule.update(update, state);
}

} // namespace troupe
