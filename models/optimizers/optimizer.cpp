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

#include <cmath>
#include <stdexcept>
#include <string>

namespace troupe {

namespace {

optimizer_options of_kind(optimizer_options options, optimizer_kind kind) {
  options.kind = kind;
  return with_defaults(options);
}

void require(bool holds, const optimizer_options& options, const char* what) {
  if (!holds)
    throw std::invalid_argument(std::string{name_of(options.kind)} + ": " + what);
}

// Only what the rule has: options meant for another rule do no harm.
void require_ranges(const optimizer_options& x) {
  const auto defaults = defaults_of(x.kind);
  const auto holds = [&](std::optional<double> optimizer_options::*member, auto&& is_good) {
    return !(defaults.*member) || is_good(*(x.*member));
  };
  const auto is_decay = [](double value) { return value >= 0 && value < 1; };
  const auto is_positive = [](double value) { return value > 0 && std::isfinite(value); };
  using options = optimizer_options;
  require(holds(&options::learning_rate, is_positive), x, "learning_rate must be positive");
  require(holds(&options::beta1, is_decay), x, "beta1 must be in [0, 1)");
  require(holds(&options::beta2, is_decay), x, "beta2 must be in [0, 1)");
  require(holds(&options::rho, is_decay), x, "rho must be in [0, 1)");
  require(holds(&options::epsilon, is_positive), x, "epsilon must be positive");
  require(
    holds(&options::weight_decay, [](double value) { return value >= 0 && std::isfinite(value); }),
    x, "weight_decay must be 0 or more");
}

} // namespace

optimizer_state::optimizer_state(size_t slot_count, size_t size) {
  for (size_t i = 0; i < slot_count; ++i)
    slots_.emplace_back(size);
}

optimizer::optimizer(const optimizer_options& options, optimizer_kind kind)
  : options_(of_kind(options, kind)) {
  require_ranges(options_);
  schedule_factor(options_.schedule, 0); // throws when the schedule is out of range
}

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
  }
  throw std::invalid_argument("optimizer: unknown kind");
}

} // namespace troupe
