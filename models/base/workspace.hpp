// Scratch memory of one thread, or of one batch that is under way: numbered slots that only ever grow,
// so that after the first step nothing is allocated.

#pragma once

#include "models/base/buffer.hpp"

#include <cstddef>
#include <span>
#include <vector>

namespace troupe {

class workspace {
public:
  /// Slot `index` with room for `size` floats; its contents are those of its last use.
  std::span<float> slot(size_t index, size_t size) {
    if (slots_.size() <= index)
      slots_.resize(index + 1);
    if (slots_[index].size() < size)
      slots_[index] = buffer{size};
    return slots_[index].values().first(size);
  }

  size_t byte_count() const {
    size_t result = 0;
    for (const auto& slot : slots_)
      result += slot.size() * sizeof(float);
    return result;
  }

private:
  std::vector<buffer> slots_;
};

} // namespace troupe
