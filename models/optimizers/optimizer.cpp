#include "troupe/models/optimizers/optimizer.hpp"

#include "troupe/models/optimizers/adadelta.hpp"
#include "troupe/models/optimizers/adagrad.hpp"
#include "troupe/models/optimizers/adam.hpp"
#include "troupe/models/optimizers/adamax.hpp"
#include "troupe/models/optimizers/adamw.hpp"
#include "troupe/models/optimizers/nadam.hpp"
#include "troupe/models/optimizers/radam.hpp"
#include "troupe/models/optimizers/rmsprop.hpp"
#include "troupe/models/optimizers/rprop.hpp"
#include "troupe/models/optimizers/sgd.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace troupe {

optimizer_state::optimizer_state(size_t slot_count, size_t size, size_t number_count)
  : numbers_(number_count) {
  for (size_t i = 0; i < slot_count; ++i)
    slots_.emplace_back(size);
}

optimizer_state optimizer_state::copy() const {
  optimizer_state result{slots_.size(), slots_.empty() ? 0 : slots_.front().size()};
  for (size_t i = 0; i < slots_.size(); ++i)
    std::ranges::copy(slot(i), result.slot(i).begin());
  result.numbers_ = numbers_;
  return result;
}

optimizer::optimizer(const optimizer_options& options, optimizer_kind kind)
  : options_(checked_options(options, kind)) {}

update_step optimizer::begin_step(uint64_t t, uint64_t sample_count, direction way) const {
  update_step step;
  const double sign = way == direction::descent ? 1 : -1;
  step.gradient_factor = static_cast<float>(sign / static_cast<double>(sample_count));
  step.learning_rate =
    static_cast<float>(*options_.learning_rate * schedule_factor(options_.schedule, t));
  return step;
}

std::unique_ptr<optimizer> make_optimizer(const optimizer_options& options) {
  switch (options.kind) {
  case optimizer_kind::sgd:
    return std::make_unique<sgd>(options);
  case optimizer_kind::adam:
    return std::make_unique<adam>(options);
  case optimizer_kind::adamw:
    return std::make_unique<adamw>(options);
  case optimizer_kind::adamax:
    return std::make_unique<adamax>(options);
  case optimizer_kind::nadam:
    return std::make_unique<nadam>(options);
  case optimizer_kind::radam:
    return std::make_unique<radam>(options);
  case optimizer_kind::adagrad:
    return std::make_unique<adagrad>(options);
  case optimizer_kind::adadelta:
    return std::make_unique<adadelta>(options);
  case optimizer_kind::rmsprop:
    return std::make_unique<rmsprop>(options);
  case optimizer_kind::rprop:
    return std::make_unique<rprop>(options);
  default:
    break;
  }
  throw std::invalid_argument(std::string{name_of(options.kind)} +
                              ": not a rule that works element by element");
}

} // namespace troupe
