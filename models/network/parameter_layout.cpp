#include "troupe/models/network/parameter_layout.hpp"

#include <limits>
#include <stdexcept>
#include <string>
#include <utility>

namespace troupe {

namespace {

/// Elements that can be addressed as bytes.
constexpr size_t elements_max = std::numeric_limits<size_t>::max() / sizeof(float);

[[noreturn]] void refuse_size(const std::string& name) {
  throw std::length_error("parameter layout: with tensor '" + name + "' there are more than " +
                          std::to_string(elements_max) + " elements");
}

} // namespace

size_t parameter_layout::add(std::string name, std::vector<size_t> shape) {
  if (find(name))
    throw std::invalid_argument("parameter layout: two tensors are called '" + name + "'");
  if (shape.empty())
    throw std::invalid_argument("parameter layout: tensor '" + name + "' has no shape");
  size_t size = 1;
  for (auto extent : shape) {
    if (extent == 0)
      throw std::invalid_argument("parameter layout: tensor '" + name + "' has an extent of 0");
    if (size > elements_max / extent)
      refuse_size(name);
    size *= extent;
  }
  if (size > elements_max - size_)
    refuse_size(name);
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
