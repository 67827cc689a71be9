#include "models/whole_model/whole_model_rule.hpp"

#include "models/whole_model/adafactor.hpp"
#include "models/whole_model/lbfgs.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

namespace troupe {

namespace {

/// Tensors as they lie in working order: where one lies column by column, its extents the other way
/// round. Layers are not cut.
parameter_layout working_tensors(const parameter_layout& layout) {
  if (layout.pieces().empty())
    return layout;
  parameter_layout result;
  for (const auto& piece : layout.pieces()) {
    const auto& tensor = layout.tensors()[piece.tensor];
    auto shape = tensor.shape;
    if (piece.by_columns)
      std::ranges::reverse(shape);
    result.add(tensor.name, std::move(shape));
  }
  return result;
}

} // namespace

std::unique_ptr<whole_model_rule> make_whole_model_rule(const optimizer_options& options,
                                                        const parameter_layout& layout) {
  switch (options.kind) {
  case optimizer_kind::adafactor:
    return std::make_unique<adafactor>(options, working_tensors(layout));
  case optimizer_kind::lbfgs:
    return std::make_unique<lbfgs>(options);
  default:
    break;
  }
  throw std::invalid_argument(std::string{name_of(options.kind)} +
                              ": not a rule over the whole model");
}

} // namespace troupe
