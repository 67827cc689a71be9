// Initial weights. Each weight is a function of (seed, tensor, index) alone, so any process can
// make any part of the initial parameters and all agree. Biases start at zero.

#pragma once

#include "models/base/names.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace troupe {

enum class initialization_kind : uint8_t { zero, he, xavier, uniform, normal, lecun };

template <>
struct name_table<initialization_kind> {
  static constexpr std::array entries{
    named(initialization_kind::zero, "zero"),     named(initialization_kind::uniform, "uniform"),
    named(initialization_kind::normal, "normal"), named(initialization_kind::lecun, "lecun"),
    named(initialization_kind::he, "he"),         named(initialization_kind::xavier, "xavier")};
};

/// Default scale of `uniform` and `normal`: small beside 1, so that no unit starts saturated.
inline constexpr double default_initialization_scale = 0.05;

/// Which weights are made: element i of the tensor depends on `seed`, `tensor` and i only.
struct initialization_request {
  uint64_t seed = 0;
  uint32_t tensor = 0;                         ///< index of the tensor in its layout
  size_t inputs = 1;                           ///< fan-in
  size_t outputs = 1;                          ///< fan-out
  double scale = default_initialization_scale; ///< of uniform and normal, > 0
  size_t first = 0;                            ///< index of the first weight that is made
};

/// Fills `weights`.
///
/// - zero:    0
/// - uniform: uniform in [-scale, scale)
/// - normal:  normal with deviation `scale`
/// - lecun:   normal with deviation sqrt(1 / inputs)                (LeCun et al. 1998, eq. 16)
/// - he:      normal with deviation sqrt(2 / inputs)                (He et al. 2015, eq. 10)
/// - xavier:  uniform in [-a, a), a = sqrt(6 / (inputs + outputs))  (Glorot & Bengio 2010, eq. 16)
void initialize(initialization_kind kind, const initialization_request& request,
                std::span<float> weights);

} // namespace troupe
