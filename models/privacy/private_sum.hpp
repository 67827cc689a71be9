// A private sum: clients' updates clipped to a norm, added as integers (models/merging/ring_sum.hpp), and
// noise added to each of the sum's words before they are used.
//
// An update of norm |d| is scaled by min(1, C / |d|), so that one client moves the sum by C at most.
// Then it is rounded to a grid of 2^-f, which moves each of its P elements by half a step at most:
//   C' = C + sqrt(P) 2^-(f+1)
// is the sum's sensitivity to a client. The noise is a discrete Gaussian of deviation z C' 2^f steps:
// exact integers on exact integers, so that no lowest bits of a float give clients away.
//
// f follows from C and z: C 2^f is about 2^20, fine enough that the grid adds little to C, and noise of
// z = 8 is 2^23 steps: what the sampler does with whole numbers of 128 bits. Of more noise the grid is
// coarser, and noise is still 2^22 steps or more.

#pragma once

#include "models/privacy/secret_stream.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace troupe {

/// The discrete Gaussian: integers x with probability proportional to e^(-x^2 / (2 s)), drawn exactly.
///
/// Canonne, Kamath & Steinke 2020, "The discrete Gaussian for differential privacy", algorithms 1 to 3:
/// a discrete Laplace draw Y of scale t = floor(sqrt(s)) + 1 is kept with probability
/// e^(-(|Y| - s / t)^2 / (2 s)). Every coin is a comparison of whole numbers, so the result has the
/// distribution it is said to have, to the last bit: noise from rounded floating-point numbers gives
/// secrets away by its lowest bits (Mironov 2012, "On significance of the least significant bits").
/// Rényi divergences between such noise and itself moved by an integer are at most those of the
/// continuous Gaussian of the same variance.
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

struct private_sum_rule {
  double clip_norm = 1; ///< C, in [2^-30, 2^30]
  double noise = 1;     ///< z, in [2^-10, 2^10]: deviation as a multiple of the sensitivity

  /// f: bits behind the point.
  int fraction_bits() const;
  /// C' of a model of `size` parameters.
  double sensitivity(size_t size) const;
  /// Of the noise, in steps. Never less than was asked for.
  uint64_t variance(size_t size) const;

  friend bool operator==(const private_sum_rule&, const private_sum_rule&) = default;
};

/// Of C and z.
inline constexpr double clip_norm_max = 0x1p30;
inline constexpr double noise_multiplier_max = 0x1p10;

/// What an update of this norm is scaled by. A billionth less than C / norm: for the rounding of a
/// norm of up to 2^30 parameters.
double clip_factor(double norm, double clip_norm);

/// Adds noise of this variance to each word, modulo 2^64.
void add_noise(std::span<int64_t> words, uint64_t variance, secret_stream& random);

} // namespace troupe
