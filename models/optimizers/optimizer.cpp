#include "troupe/models/optimizers/optimizer.hpp"

#include "troupe/models/optimizers/adam.hpp"
#include "troupe/models/optimizers/sgd.hpp"

#include <stdexcept>

namespace troupe {

optimizer_state::optimizer_state(size_t slot_count, size_t size) {
  for (size_t i = 0; i < slot_count; ++i)
    slots_.emplace_back(size);
}

update_step optimizer::begin_step(uint64_t t, uint64_t sample_count, direction way) const {
  update_step step;
  const double sign = way == direction::descent ? 1 : -1;
  step.gradient_factor = static_cast<float>(sign / static_cast<double>(sample_count));
  step.learning_rate =
    static_cast<float>(options_.learning_rate * schedule_factor(options_.schedule, t));
  return step;
}

std::unique_ptr<optimizer> make_optimizer(const optimizer_options& options) {
  if (!(options.learning_rate > 0))
    throw std::invalid_argument("optimizer: learning_rate must be positive");
  schedule_factor(options.schedule, 0); // throws when the schedule is out of range
  switch (options.kind) {
  case optimizer_kind::sgd:
    return std::make_unique<sgd>(options);
  case optimizer_kind::adam:
    return std::make_unique<adam>(options);
  }
  throw std::invalid_argument("optimizer: unknown kind");
}

} // namespace troupe
