#include "troupe/models/merging/layout_union.hpp"

#include "troupe/models/base/copy_values.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace troupe {

namespace {

std::string shape_text(const std::vector<size_t>& shape) {
  std::string result;
  for (auto extent : shape)
    result += (result.empty() ? "" : " x ") + std::to_string(extent);
  return result;
}

} // namespace

parameter_layout union_of(std::span<const parameter_layout* const> layouts) {
  parameter_layout result;
  for (const auto* layout : layouts)
    for (const auto& tensor : layout->tensors()) {
      const auto* known = result.find(tensor.name);
      if (known == nullptr)
        result.add(tensor.name, tensor.shape);
      else if (known->shape != tensor.shape)
        throw std::invalid_argument("union of layouts: tensor '" + tensor.name + "' is " +
                                    shape_text(known->shape) + " in one model and " +
                                    shape_text(tensor.shape) + " in another");
    }
  return result;
}

std::vector<float> relaid(std::span<const float> values, const parameter_layout& from,
                          const parameter_layout& to) {
  if (values.size() != from.size())
    throw std::invalid_argument("relaid model: the layout has " + std::to_string(from.size()) +
                                " values, the model " + std::to_string(values.size()));
  std::vector<float> result(to.size());
  for (const auto& tensor : from.tensors()) {
    const auto* place = to.find(tensor.name);
    if (place == nullptr || place->size != tensor.size)
      throw std::invalid_argument("relaid model: there is no place for tensor '" + tensor.name +
                                  "'");
    copy_values(values.subspan(tensor.offset, tensor.size),
                result.begin() + static_cast<std::ptrdiff_t>(place->offset));
  }
  return result;
}

} // namespace troupe
