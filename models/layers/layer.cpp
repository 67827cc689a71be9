#include "models/layers/layer.hpp"

namespace troupe {

size_t size_of(const row_shape& x) {
  size_t result = 1;
  for (const auto extent : x)
    result *= extent;
  return result;
}

void require_bounded(const row_shape& x) {
  auto left = layer_values_max;
  for (const auto extent : x) {
    if (extent == 0)
      throw std::invalid_argument("an extent of " + text_of(x) + " is 0: each is at least 1");
    if (extent > left)
      throw std::invalid_argument(text_of(x) + " is too large: more than 2^40 values");
    left /= extent;
  }
}

std::string text_of(const row_shape& x) {
  std::string result;
  for (const auto extent : x)
    result += (result.empty() ? "" : " x ") + std::to_string(extent);
  return result;
}

void require_sequence(const row_shape& x) {
  if (x.size() != 2)
    throw std::invalid_argument("takes rows of positions x width, not " + text_of(x));
}

size_t layer::parameter_count() const {
  size_t result = 0;
  for (const auto& tensor : tensors_)
    result += size_of(tensor.shape);
  return result;
}

layer_part layer::part(part_way, size_t, size_t) const {
  throw std::logic_error("this layer has no parts");
}

void layer::gradient(const layer_call&, std::span<const float>, std::span<const float>,
                     std::span<float>) const {
  throw std::logic_error("this layer has no parameters");
}

} // namespace troupe
