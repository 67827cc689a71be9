#include "models/optimizers/optimizer.hpp"

#include "models/kinds/optimizer_kinds.hpp"
#include "models/optimizers/adadelta.hpp"
#include "models/optimizers/adagrad.hpp"
#include "models/optimizers/adam.hpp"
#include "models/optimizers/adamax.hpp"
#include "models/optimizers/adamw.hpp"
#include "models/optimizers/element_wise.hpp"
#include "models/optimizers/nadam.hpp"
#include "models/optimizers/radam.hpp"
#include "models/optimizers/rmsprop.hpp"
#include "models/optimizers/rprop.hpp"
#include "models/optimizers/sgd.hpp"

#include <stdexcept>
#include <string>

namespace troupe {

namespace {

/// The rule among these that the options name; null when none is.
template <class... Rules>
std::unique_ptr<optimizer> one_of_rules(const optimizer_options& options) {
  std::unique_ptr<optimizer> result;
  const auto make = [&]<class Rule>(const Rule*) {
    if (!result && Rule::kind == options.kind)
      result = std::make_unique<element_wise<Rule>>(options);
  };
  (make(static_cast<const Rules*>(nullptr)), ...);
  return result;
}

} // namespace

std::unique_ptr<optimizer> make_optimizer(const optimizer_options& options) {
  if (options.own.is_set())
    return make_own_optimizer(options);
  if (options.kind == optimizer_kind::sgd && options.momentum != 0)
    return std::make_unique<element_wise<momentum_sgd>>(options);
  if (auto result =
        one_of_rules<sgd, adam, adamw, adamax, nadam, radam, adagrad, adadelta, rmsprop, rprop>(
          options))
    return result;
  throw std::invalid_argument(std::string{name_of(options.kind)} +
                              ": not a rule that works element by element");
}

} // namespace troupe
