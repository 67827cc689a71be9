#include "troupe/models/privacy/discrete_gaussian.hpp"

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

// (|y| - s / t)^2 / (2 s) = (|y| t - s)^2 / (2 s t^2). Beyond 2^14 times the scale nobody draws.
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

} // namespace troupe
