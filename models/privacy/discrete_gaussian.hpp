// The discrete Gaussian: integers x with probability proportional to e^(-x^2 / (2 s)), drawn exactly.
//
// Canonne, Kamath & Steinke 2020, "The discrete Gaussian for differential privacy", algorithms 1 to 3:
// a discrete Laplace draw Y of scale t = floor(sqrt(s)) + 1 is kept with probability
// e^(-(|Y| - s / t)^2 / (2 s)). Every coin is a comparison of whole numbers, so the result has the
// distribution it is said to have, to the last bit: noise from rounded floating-point numbers gives
// secrets away by its lowest bits (Mironov 2012, "On significance of the least significant bits").
// Rényi divergences between such noise and itself moved by an integer are at most those of the
// continuous Gaussian of the same variance.

#pragma once

#include "troupe/models/privacy/secret_stream.hpp"

#include <cstdint>

namespace troupe {

class discrete_gaussian {
public:
  /// s, the variance parameter. Beyond it 128 bits would not do: sigma is at most 2^24.
  static constexpr uint64_t variance_max = uint64_t{1} << 48;

  /// Throws std::invalid_argument for a variance of 0 or above variance_max.
  explicit discrete_gaussian(uint64_t variance);

  int64_t draw(secret_stream& random) const;

  uint64_t variance() const { return variance_; }

private:
  int64_t draw_laplace(secret_stream& random) const;

  uint64_t variance_;
  uint64_t scale_; ///< t of the discrete Laplace
};

/// The least whole variance of a standard deviation of at least `sigma`: noise is never less than was
/// asked for. Throws std::invalid_argument when it is not a number above 0 or beyond variance_max.
uint64_t variance_of(double sigma);

} // namespace troupe
