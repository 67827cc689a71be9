#include "troupe/models/optimizers/optimizer_options.hpp"

namespace troupe {

namespace {

void set_adam_constants(optimizer_options& x) {
  x.beta1 = 0.9;
  x.beta2 = 0.999;
  x.epsilon = 1e-8;
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

} // namespace troupe
