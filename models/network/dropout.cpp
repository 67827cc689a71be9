#include "models/network/dropout.hpp"

#include "models/base/multiversion.hpp"
#include "models/base/random.hpp"
#include "models/device/device_queue.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

namespace troupe {

namespace {

TROUPE_MULTIVERSION void multiply(const float* mask, const float* values, float* out,
                                  size_t count) {
#pragma GCC ivdep
  for (size_t i = 0; i < count; ++i)
    out[i] = values[i] * mask[i];
}

// Step and layer become the seed of a sequence of their own, which leaves the whole of `major` to
// the row and the index to the unit.
uint64_t seed_of(const batch& rows, uint32_t layer) {
  const auto words = random_sequence{rows.seed, random_purpose::dropout, rows.step}.block(layer);
  return uint64_t{words[1]} << 32 | words[0];
}

} // namespace

void fill_dropout_mask(double rate, const batch& rows, uint32_t layer, const index_range& units,
                       std::span<float> mask) {
  if (!(rate >= 0 && rate < 1))
    throw std::invalid_argument("dropout: the rate must be in [0, 1)");
  if (mask.size() != rows.row_count * units.size())
    throw std::invalid_argument("dropout: a mask of " + std::to_string(mask.size()) +
                                " values for " + std::to_string(rows.row_count) + " rows of " +
                                std::to_string(units.size()) + " units");
  const auto seed = seed_of(rows, layer);
  const auto kept = static_cast<float>(1 / (1 - rate));
  const auto dropped_below = static_cast<uint64_t>(rate * 0x1p32); // of 2^32 equally likely words
  if (auto* const device = device_of(mask)) {
    std::vector<float> words(2 * rows.row_count);
    for (size_t i = 0; i < rows.row_count; ++i) {
      const auto number = uint64_t{rows.row_number(i)};
      std::memcpy(&words[2 * i], &number, sizeof(number));
    }
    return device->run("dropout_mask", mask.size(),
                       {device->staged(words), mask, units.size(), units.begin, seed,
                        static_cast<uint64_t>(random_purpose::dropout), dropped_below, kept});
  }
  for (size_t i = 0; i < rows.row_count; ++i) {
    const random_sequence sequence{seed, random_purpose::dropout, rows.row_number(i)};
    float* const row = mask.data() + i * units.size();
    for (size_t block = units.begin / 4; block * 4 < units.end; ++block) {
      const auto words = sequence.block(static_cast<uint32_t>(block));
      const auto begin = std::max(block * 4, units.begin);
      for (size_t k = begin; k < std::min(block * 4 + 4, units.end); ++k)
        row[k - units.begin] = words[k - block * 4] < dropped_below ? 0.0f : kept;
    }
  }
}

void apply_mask(std::span<const float> mask, std::span<const float> values, std::span<float> out) {
  if (mask.size() != values.size() || mask.size() != out.size())
    throw std::invalid_argument("dropout: " + std::to_string(mask.size()) + " factors for " +
                                std::to_string(values.size()) + " values and " +
                                std::to_string(out.size()) + " results");
  if (auto* const device = device_of(out))
    return device->run("multiply_values", out.size(), {mask, values, out});
  multiply(mask.data(), values.data(), out.data(), mask.size());
}

} // namespace troupe
