// Who takes part in a round, as a secret: each client with the same probability, drawn by a key that
// nobody outside has. What the accountant says of sampling holds for exactly this (Poisson sampling)
// and for nobody who knows the cohort; a cohort of a fixed size, or one that follows from a seed in the
// job's file, is accounted as if everybody took part.

#pragma once

#include "troupe/models/privacy/secret_stream.hpp"

#include <cstdint>
#include <vector>

namespace troupe {

/// The clients, ascending, of this attempt at a round: each of [0, client_count) with probability
/// `rate`, to 2^-64 and never above it. Throws std::invalid_argument for a rate outside (0, 1].
std::vector<uint32_t> secret_cohort(const secret_key& key, uint64_t round, uint64_t attempt,
                                    uint32_t client_count, double rate);

/// Clients that a cohort has at most, but for one time in 10^20: q n + 10 sqrt(q n), at most n. A round
/// with more is void: the range of its sum is not for so many.
uint64_t cohort_size_max(uint32_t client_count, double rate);

} // namespace troupe
