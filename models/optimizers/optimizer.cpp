#include "models/optimizers/optimizer.hpp"

#include "models/base/copy_values.hpp"

#include <algorithm>

namespace troupe {

optimizer_state::optimizer_state(size_t slot_count, size_t size, size_t number_count)
  : numbers_(number_count) {
  for (size_t i = 0; i < slot_count; ++i)
    slots_.emplace_back(size);
}

optimizer_state optimizer_state::copy() const {
  optimizer_state result{slots_.size(), slots_.empty() ? 0 : slots_.front().size()};
  for (size_t i = 0; i < slots_.size(); ++i)
    copy_values(slot(i), result.slot(i).begin());
  result.numbers_ = numbers_;
  return result;
}

optimizer::optimizer(const optimizer_options& options, optimizer_kind kind)
  : options_(checked_options(options, kind)) {}

optimizer::optimizer(const optimizer_options& common)
  : options_(checked_options(common, common.kind)) {}

update_step optimizer::begin_step(uint64_t t, uint64_t sample_count, direction way,
                                  std::span<const uint64_t> reductions) const {
  update_step step;
  const double sign = way == direction::descent ? 1 : -1;
  step.gradient_factor = static_cast<float>(sign / static_cast<double>(sample_count));
  step.learning_rate =
    static_cast<float>(*options_.learning_rate * schedule_factor(options_.schedule, t) *
                       plateau_factor(options_.plateau, reductions, t));
  step.corrections = corrections(t);
  return step;
}

} // namespace troupe
