// Feature hashing: any number of features in 2^bits columns (Weinberger, Dasgupta, Langford, Smola,
// Attenberg 2009, "Feature hashing for large scale multitask learning").
//
// A feature's hash says its column and its sign, so that features that share a column cancel as often as
// they add up, and products of rows keep their expectation. A function of the feature's number as the
// file counts and of `bits` alone, the same on every machine and in every release.

#pragma once

#include <cstddef>
#include <cstdint>

namespace troupe {

inline constexpr size_t hash_bits_min = 4;
inline constexpr size_t hash_bits_max = 30;

struct hashed_feature {
  uint32_t column; ///< below 2^bits
  float sign;      ///< 1 or -1
};

/// The finalizer of SplitMix64 (Steele, Lea, Flood 2014): lowest bits the column, the highest the sign.
inline hashed_feature hash_feature(uint64_t number, size_t bits) {
  uint64_t x = number + 0x9e3779b97f4a7c15u;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
  x = (x ^ x >> 27) * 0x94d049bb133111ebu;
  x ^= x >> 31;
  return {static_cast<uint32_t>(x & ((uint64_t{1} << bits) - 1)), x >> 63 ? -1.0f : 1.0f};
}

} // namespace troupe
