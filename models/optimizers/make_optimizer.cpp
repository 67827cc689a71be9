#include "troupe/models/optimizers/make_optimizer.hpp"

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

std::unique_ptr<optimizer> make_optimizer(const optimizer_options& options) {
  if (options.own.is_set())
    return make_own_optimizer(options);
  switch (options.kind) {
  case optimizer_kind::sgd:
    if (options.momentum == 0)
      return std::make_unique<element_wise<sgd>>(options);
    return std::make_unique<element_wise<momentum_sgd>>(options);
  case optimizer_kind::adam:
    return std::make_unique<element_wise<adam>>(options);
  case optimizer_kind::adamw:
    return std::make_unique<element_wise<adamw>>(options);
  case optimizer_kind::adamax:
    return std::make_unique<element_wise<adamax>>(options);
  case optimizer_kind::nadam:
    return std::make_unique<element_wise<nadam>>(options);
  case optimizer_kind::radam:
    return std::make_unique<element_wise<radam>>(options);
  case optimizer_kind::adagrad:
    return std::make_unique<element_wise<adagrad>>(options);
  case optimizer_kind::adadelta:
    return std::make_unique<element_wise<adadelta>>(options);
  case optimizer_kind::rmsprop:
    return std::make_unique<element_wise<rmsprop>>(options);
  case optimizer_kind::rprop:
    return std::make_unique<element_wise<rprop>>(options);
  default:
    break;
  }
  throw std::invalid_argument(std::string{name_of(options.kind)} +
                              ": not a rule that works element by element");
}

} // namespace troupe
