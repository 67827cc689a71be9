#include "troupe/models/privacy/private_sum.hpp"

#include "troupe/models/privacy/discrete_gaussian.hpp"

#include <algorithm>
#include <cmath>

namespace troupe {

namespace {

constexpr int clip_bits = 20;  // C 2^f <= 2^20
constexpr int noise_bits = 23; // z C 2^f <= 2^23, half of what the sampler can do
constexpr double shrink = 1 - 0x1p-30;

// The least n with 2^n >= x; x > 0.
int ceil_log2(double x) {
  int exponent = 0;
  return std::frexp(x, &exponent) == 0.5 ? exponent - 1 : exponent;
}

} // namespace

int private_sum_rule::fraction_bits() const {
  return std::min(clip_bits - ceil_log2(clip_norm), noise_bits - ceil_log2(noise * clip_norm));
}

double private_sum_rule::sensitivity(size_t size) const {
  const double rounding = std::sqrt(static_cast<double>(size)) / 2;
  return clip_norm + std::ldexp(rounding, -fraction_bits());
}

uint64_t private_sum_rule::variance(size_t size) const {
  return variance_of(noise * std::ldexp(sensitivity(size), fraction_bits()));
}

double clip_factor(double norm, double clip_norm) {
  const double limit = clip_norm * shrink;
  return norm <= limit ? 1 : limit / norm;
}

void add_noise(std::span<int64_t> words, uint64_t variance, secret_stream& random) {
  const discrete_gaussian noise{variance};
  for (auto& word : words)
    word =
      static_cast<int64_t>(static_cast<uint64_t>(word) + static_cast<uint64_t>(noise.draw(random)));
}

} // namespace troupe
