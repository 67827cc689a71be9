#include "troupe/models/parameter_layout.hpp"

#include <stdexcept>
#include <utility>

namespace troupe {

size_t parameter_layout::add(std::string name, std::vector<size_t> shape) {
  if (find(name))
    throw std::invalid_argument("parameter layout: two tensors are called '" + name + "'");
  if (shape.empty())
    throw std::invalid_argument("parameter layout: tensor '" + name + "' has no shape");
  size_t size = 1;
  for (auto extent : shape)
    size *= extent;
  if (size == 0)
    throw std::invalid_argument("parameter layout: tensor '" + name + "' has an extent of 0");
  tensors_.push_back({std::move(name), std::move(shape), size_, size});
  size_ += size;
  return tensors_.size() - 1;
}

const tensor_info* parameter_layout::find(std::string_view name) const noexcept {
  for (const auto& tensor : tensors_)
    if (tensor.name == name)
      return &tensor;
  return nullptr;
}

} // namespace troupe
