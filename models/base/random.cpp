#include "models/base/random.hpp"

#include "models/math/elementary.hpp"

#include <Random123/philox.h>

#include <cmath>
#include <numeric>
#include <stdexcept>
#include <utility>

namespace troupe {

word_reader::word_reader(const random_sequence& sequence, uint64_t first)
  : sequence_(sequence), next_(first) {
  if (next_ % 4 != 0)
    block_ = sequence_.block(static_cast<uint32_t>(next_ / 4));
}

std::array<uint32_t, 4> random_sequence::block(uint32_t index) const {
  r123::Philox4x32 generator;
  const r123::Philox4x32::key_type key{
    {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)}};
  const r123::Philox4x32::ctr_type counter{{index, static_cast<uint32_t>(major),
                                            static_cast<uint32_t>(major >> 32),
                                            static_cast<uint32_t>(purpose)}};
  const auto words = generator(counter, key);
  return {words[0], words[1], words[2], words[3]};
}

uint32_t random_word(const random_sequence& sequence, uint64_t i) {
  return sequence.block(static_cast<uint32_t>(i / 4))[i % 4];
}

void fill_uniform(const random_sequence& sequence, uint64_t first, float low, float high,
                  std::span<float> out) {
  word_reader next{sequence, first};
  for (auto& value : out) {
    const auto unit = static_cast<float>(next() >> 8) * 0x1p-24f; // 24 bits: below 1 also as float
    value = low + (high - low) * unit;
  }
}

void fill_normal(const random_sequence& sequence, uint64_t first, float deviation,
                 std::span<float> out) {
  word_reader next{sequence, 2 * first};
  for (auto& value : out) {
    const double unit = (next() + 0.5) * 0x1p-32; // in (0, 1)
    const double radius = std::sqrt(-2 * elementary::log(unit));
    value = static_cast<float>(deviation * radius * elementary::cos_of_turn(next()));
  }
}

std::vector<uint32_t> random_permutation(const random_sequence& sequence, uint32_t count) {
  std::vector<uint32_t> result(count);
  std::iota(result.begin(), result.end(), 0u);
  word_reader next{sequence, 0};
  for (uint32_t i = count; i > 1; --i) {
    const auto j = next.below(i);
    std::swap(result[i - 1], result[j]);
  }
  return result;
}

double draw_normal(word_reader& words) {
  const double radius = std::sqrt(-2 * elementary::log(words.unit()));
  return radius * elementary::cos_of_turn(words());
}

double draw_log_gamma(word_reader& words, double shape) {
  if (!(shape > 0))
    throw std::invalid_argument("gamma: the shape must be above 0");
  if (shape < 1)
    return elementary::log(words.unit()) / shape + draw_log_gamma(words, shape + 1);
  const double d = shape - 1.0 / 3;
  const double c = 1 / std::sqrt(9 * d);
  for (;;) { // accepted more than 95 times in 100, whatever the shape
    const double x = draw_normal(words);
    const double root = 1 + c * x;
    if (root <= 0)
      continue;
    const double v = root * root * root;
    if (elementary::log(words.unit()) < x * x / 2 + d * (1 - v + elementary::log(v)))
      return elementary::log(d) + elementary::log(v);
  }
}

} // namespace troupe
