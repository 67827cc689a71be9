// Payloads for tests: made of values, and as they arrive over a wire.

#pragma once

#include "actors/protocol/payload.hpp"

#include <caf/binary_deserializer.hpp>
#include <caf/binary_serializer.hpp>

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <stdexcept>
#include <vector>

namespace troupe::test {

inline payload payload_of(const std::vector<float>& values) {
  const buffer storage{values.size()};
  std::ranges::copy(values, storage.values().begin());
  return {storage, 0, values.size()};
}

/// `size` values first, first + 1, ...
inline payload counting_from(float first, size_t size) {
  const buffer storage{size};
  std::iota(storage.values().begin(), storage.values().end(), first);
  return {storage, 0, size};
}

/// As it arrives from another process: in memory of its own, perhaps with a bit of it flipped.
template <class Message>
Message over_a_wire(Message part, char flip = 0) {
  std::vector<char> bytes;
  caf::binary_serializer sink{nullptr, bytes};
  if (sink(part))
    throw std::runtime_error("cannot be written");
  auto& last_of_values = bytes.back();
  last_of_values = static_cast<char>(last_of_values ^ flip);
  caf::binary_deserializer source{nullptr, bytes};
  Message result;
  if (source(result))
    throw std::runtime_error("cannot be read");
  return result;
}

inline std::vector<float> values_of(const payload& x) {
  return {x.values().begin(), x.values().end()};
}

} // namespace troupe::test
