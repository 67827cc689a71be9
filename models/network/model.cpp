#include "troupe/models/network/model.hpp"

namespace troupe {

std::span<float> workspace::slot(size_t index, size_t size) {
  if (slots_.size() <= index)
    slots_.resize(index + 1);
  if (slots_[index].size() < size)
    slots_[index] = buffer{size};
  return slots_[index].values().first(size);
}

} // namespace troupe
