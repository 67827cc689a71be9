#include "troupe/models/optimizers/optimizer.hpp"

#include "troupe/models/kinds/optimizer_kinds.hpp"
#include "troupe/models/optimizers/adadelta.hpp"
#include "troupe/models/optimizers/adagrad.hpp"
#include "troupe/models/optimizers/adam.hpp"
#include "troupe/models/optimizers/adamax.hpp"
#include "troupe/models/optimizers/adamw.hpp"
#include "troupe/models/optimizers/element_wise.hpp"
#include "troupe/models/optimizers/nadam.hpp"
#include "troupe/models/optimizers/radam.hpp"
#include "troupe/models/optimizers/rmsprop.hpp"
#include "troupe/models/optimizers/rprop.hpp"
#include "troupe/models/optimizers/sgd.hpp"

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
