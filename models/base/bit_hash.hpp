// A hash of bits: it names the behaviour of a machine's arithmetic (arithmetic.hpp), or of a kind that an
// application adds (models/kinds/probe.hpp).

#pragma once

#include "models/base/random.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include <vector>

namespace troupe {

// FNV-1a over the bits of what is added.
class bit_hash {
public:
  void add(std::span<const float> values) {
    for (auto value : values)
      add_word(std::bit_cast<uint32_t>(value));
  }

  void add(double value) {
    const auto bits = std::bit_cast<uint64_t>(value);
    add_word(static_cast<uint32_t>(bits));
    add_word(static_cast<uint32_t>(bits >> 32));
  }

  std::string hex() const {
    char text[17];
    std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(state_));
    return text;
  }

private:
  void add_word(uint32_t word) {
    for (int shift = 0; shift < 32; shift += 8) {
      state_ ^= (word >> shift) & 0xff;
      state_ *= 0x100000001b3;
    }
  }

  uint64_t state_ = 0xcbf29ce484222325;
};

// Values made by a rule, for what tries a kind out: the same on every machine.

/// `count` values in [low, high); other values for another seed or `major`.
inline std::vector<float> made_values(uint64_t seed, uint64_t major, size_t count, float low,
                                      float high) {
  std::vector<float> result(count);
  fill_uniform({seed, random_purpose::initialization, major}, 0, low, high, result);
  return result;
}

/// NaN of the same bits is the same, 0 and -0 are not.
inline bool same_bits(std::span<const float> a, std::span<const float> b) {
  return std::ranges::equal(a, b, [](float x, float y) {
    return std::bit_cast<uint32_t>(x) == std::bit_cast<uint32_t>(y);
  });
}

} // namespace troupe
