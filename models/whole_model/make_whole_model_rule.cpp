#include "troupe/models/whole_model/make_whole_model_rule.hpp"

#include "troupe/models/whole_model/adafactor.hpp"
#include "troupe/models/whole_model/lbfgs.hpp"

#include <stdexcept>
#include <string>

namespace troupe {

std::unique_ptr<whole_model_rule> make_whole_model_rule(const optimizer_options& options,
                                                        const parameter_layout& layout) {
  switch (options.kind) {
  case optimizer_kind::adafactor:
    return std::make_unique<adafactor>(options, layout);
  case optimizer_kind::lbfgs:
    return std::make_unique<lbfgs>(options);
  default:
    break;
  }
  throw std::invalid_argument(std::string{name_of(options.kind)} +
                              ": not a rule over the whole model");
}

} // namespace troupe
