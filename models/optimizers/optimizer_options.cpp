#include "troupe/models/optimizers/optimizer_options.hpp"

#include <cmath>
#include <stdexcept>
#include <string>

namespace troupe {

namespace {

void set_adam_constants(optimizer_options& x) {
  x.beta1 = 0.9;
  x.beta2 = 0.999;
  x.epsilon = 1e-8;
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
  require(x.history_size >= 1, x, "history_size must be at least 1");
}

} // namespace

optimizer_options defaults_of(optimizer_kind kind) {
  optimizer_options x;
  x.kind = kind;
  x.learning_rate = 0.01;
  switch (kind) {
  case optimizer_kind::sgd:
  case optimizer_kind::rprop:
    break;
  case optimizer_kind::adamw:
    x.weight_decay = 0.01;
    [[fallthrough]];
  case optimizer_kind::adam:
  case optimizer_kind::adamax:
  case optimizer_kind::nadam:
  case optimizer_kind::radam:
    set_adam_constants(x);
    break;
  case optimizer_kind::adagrad:
    x.epsilon = 1e-10;
    break;
  case optimizer_kind::adadelta:
    x.learning_rate = 1;
    x.rho = 0.95;
    x.epsilon = 1e-6;
    break;
  case optimizer_kind::rmsprop:
    x.rho = 0.9;
    x.epsilon = 1e-8;
    break;
  case optimizer_kind::adafactor:
    x.epsilon = 1e-30;
    break;
  case optimizer_kind::lbfgs:
    x.learning_rate = 1;
    break;
  case optimizer_kind::closed_form:
    x.learning_rate.reset();
    break;
  case optimizer_kind::gauss_newton:
    x.learning_rate.reset();
    x.damping = 1e-3;
    break;
  }
  return x;
}

optimizer_options with_defaults(const optimizer_options& options) {
  auto result = options;
  const auto defaults = defaults_of(options.kind);
  for (const auto& [key, member] : optimizer_constants)
    if (!(result.*member))
      result.*member = defaults.*member;
  return result;
}

optimizer_options checked_options(optimizer_options options, optimizer_kind kind) {
  options.kind = kind;
  const auto result = with_defaults(options);
  require_ranges(result);
  schedule_factor(result.schedule, 0); // throws when the schedule is out of range
  require(!result.plateau.patience || (result.plateau.factor > 0 && result.plateau.factor < 1),
          result, "plateau.factor must be in (0, 1)");
  if (kind == optimizer_kind::sgd) {
    require(result.momentum >= 0 && result.momentum < 1, result, "momentum must be in [0, 1)");
    require(!result.nesterov || result.momentum > 0, result, "nesterov needs a momentum above 0");
  }
  return result;
}

} // namespace troupe
