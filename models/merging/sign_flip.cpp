#include "troupe/models/merging/sign_flip.hpp"

#include <stdexcept>

namespace troupe {

void flip_update(std::span<const float> start, double factor, std::span<float> values) {
  if (start.size() != values.size())
    throw std::invalid_argument("flip_update: the start and the model differ in size");
  for (size_t i = 0; i < values.size(); ++i) {
    const double moved = static_cast<double>(values[i]) - static_cast<double>(start[i]);
    values[i] = static_cast<float>(static_cast<double>(start[i]) - factor * moved);
  }
}

} // namespace troupe
