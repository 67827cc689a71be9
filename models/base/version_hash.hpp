// A hash of a version of the parameters, of parts that add up: the sum modulo 2^128 of one hash for each
// block, which knows its place. So it depends neither on the blocks' owners nor on the order of adding. It
// finds accidents; it does not stop an attacker.

#pragma once

#include <cstdint>

namespace troupe {

/// A number of 128 bits, modulo 2^128. Zero: nothing was hashed.
struct hash_sum {
  uint64_t high = 0;
  uint64_t low = 0;

  hash_sum& operator+=(const hash_sum& other) {
    low += other.low;
    high += other.high + (low < other.low ? 1 : 0);
    return *this;
  }
  friend bool operator==(const hash_sum&, const hash_sum&) = default;
};

/// Of a version, or of some blocks of it.
struct version_hash {
  hash_sum parameters;
  hash_sum state; ///< of the optimizer's vectors; zero where there are none, or they are not hashed

  version_hash& operator+=(const version_hash& other) {
    parameters += other.parameters;
    state += other.state;
    return *this;
  }
  friend bool operator==(const version_hash&, const version_hash&) = default;
};

} // namespace troupe
