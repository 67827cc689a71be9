#include "models/whole_model/whole_model_rule.hpp"

#include "models/math/tree_accumulator.hpp"

#include <algorithm>

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

} // namespace troupe
