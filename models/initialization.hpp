// Initial weights. Each weight is a function of (seed, tensor, index) alone, so any process can
// make any part of the initial parameters and all agree. Biases start at zero.

#pragma once

#include "troupe/models/names.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace troupe {

enum class initialization_kind : uint8_t { zero, he, xavier };

template <>
struct name_table<initialization_kind> {
  static constexpr std::array entries{named(initialization_kind::zero, "zero"),
                                      named(initialization_kind::he, "he"),
                                      named(initialization_kind::xavier, "xavier")};
};

/// Which weights are made: element i of the tensor depends on `seed`, `tensor` and i only.
struct initialization_request {
  uint64_t seed = 0;
  uint32_t tensor = 0; ///< index of the tensor in its layout
  size_t inputs = 1;   ///< fan-in
  size_t outputs = 1;  ///< fan-out
};

/// Fills `weights`.
///
/// - zero:   0
/// - he:     normal with deviation sqrt(2 / inputs)                (He et al. 2015, eq. 10)
/// - xavier: uniform in [-a, a), a = sqrt(6 / (inputs + outputs))  (Glorot & Bengio 2010, eq. 16)
void initialize(initialization_kind kind, const initialization_request& request,
                std::span<float> weights);

} // namespace troupe
