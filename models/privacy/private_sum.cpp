#include "models/privacy/private_sum.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace troupe {

namespace {

__extension__ using wide = unsigned __int128;

/// True with probability n / d, n <= d < 2^111: a uniform number is compared with it digit by digit,
/// and two digits are the same once in 65,536 times.
bool coin(wide n, wide d, secret_stream& random) {
  for (;;) {
    if (n == d)
      return true;
    if (n == 0)
      return false;
    n <<= 16;
    const auto digit = static_cast<uint32_t>(n / d);
    n %= d;
    const uint32_t drawn = random.next_16();
    if (drawn != digit)
      return drawn < digit;
  }
}

/// True with probability e^(-n / d), n <= d: the first k for which a coin of n / (k d) fails is odd.
bool coin_of_exponential(wide n, wide d, secret_stream& random) {
  uint64_t k = 1;
  while (coin(n, k * d, random))
    ++k;
  return k % 2 == 1;
}

/// The same for any n.
bool coin_of_any_exponential(wide n, wide d, secret_stream& random) {
  for (; n > d; n -= d)
    if (!coin_of_exponential(1, 1, random))
      return false;
  return coin_of_exponential(n, d, random);
}

uint64_t root_of(uint64_t x) {
  auto root = static_cast<uint64_t>(std::sqrt(static_cast<double>(x)));
  while (root * root > x)
    --root;
  while ((root + 1) * (root + 1) <= x)
    ++root;
  return root;
}

} // namespace

discrete_gaussian::discrete_gaussian(uint64_t variance)
  : variance_(variance), scale_(root_of(variance) + 1) {
  if (variance == 0 || variance > variance_max)
    throw std::invalid_argument("discrete Gaussian: a variance of 0 or beyond 2^48");
}

int64_t discrete_gaussian::draw_laplace(secret_stream& random) const {
  for (;;) {
    const auto rest = random.below(scale_);
    if (!coin_of_exponential(rest, scale_, random))
      continue;
    uint64_t whole = 0;
    while (coin_of_exponential(1, 1, random))
      ++whole;
    const auto size = static_cast<int64_t>(rest + scale_ * whole);
    const bool is_negative = random.next_16() % 2 == 1;
    if (is_negative && size == 0)
      continue; // 0 has one sign only
    return is_negative ? -size : size;
  }
}

// (|y| - s / t)^2 / (2 s) = (|y| t - s)^2 / (2 s t^2). No draw is beyond 2^14 times the scale.
int64_t discrete_gaussian::draw(secret_stream& random) const {
  const wide below = wide{2} * variance_ * scale_ * scale_; // < 2^99
  for (;;) {
    const auto y = draw_laplace(random);
    const auto moved = wide{static_cast<uint64_t>(y < 0 ? -y : y)} * scale_; // < 2^63
    const auto distance = moved > variance_ ? moved - variance_ : variance_ - moved;
    if (coin_of_any_exponential(distance * distance, below, random))
      return y;
  }
}

uint64_t variance_of(double sigma) {
  const auto variance = std::ceil(sigma * sigma);
  if (!(sigma > 0 && variance <= static_cast<double>(discrete_gaussian::variance_max)))
    throw std::invalid_argument("discrete Gaussian: a standard deviation of 0 or beyond 2^24");
  return static_cast<uint64_t>(variance);
}

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
