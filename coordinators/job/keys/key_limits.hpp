// The greatest whole numbers that keys of a job take.
//
// They are no advice. They keep a slip of the finger (a zero too many, a number of bytes) from becoming
// hours of silence or an overflow; within them every product that Troupe computes fits 64 bits. What a
// machine has no memory for is refused apart (coordinators/job/memory_need.hpp).

#pragma once

#include <cstddef>
#include <cstdint>

namespace troupe {

/// Rows are counted in 32 bits where their order is drawn.
inline constexpr uint64_t rows_max = 1'000'000'000;
/// As many as a CSV file may have.
inline constexpr uint64_t columns_max = 1'000'000;
/// Each is a run of its own.
inline constexpr uint64_t folds_max = 1'000;
/// A layer between two of these has 10^14 weights, and a thousand layers still fit 64 bits.
inline constexpr uint64_t units_max = 10'000'000;
/// Thirty years of a step each microsecond.
inline constexpr uint64_t steps_max = 1'000'000'000'000'000;
inline constexpr uint64_t epochs_max = 1'000'000'000'000;
/// Each is a message a step to each shard: with so many a step takes some 30 ms of bookkeeping.
inline constexpr uint64_t slices_max = 4'096;
/// Actors of one process, and threads: each has memory of its own, and all know each other.
inline constexpr uint64_t actors_max = 1'024;
/// Clients cost 4 bytes each, and some nanoseconds a round where all are looked at.
inline constexpr uint64_t clients_max = 100'000'000;
/// Nodes of a cluster: each links with every other one, and says so once a second.
inline constexpr size_t node_count_max = 1'024;
/// Hidden layers of a network: far more than train without connections that skip some.
inline constexpr size_t hidden_layers_max = 1'000;

} // namespace troupe
