// The bare loop of federated rounds: what a C++ programmer would write by hand to train the clients of
// a round and to add what they changed. Linear regression, squared loss, one step of plain SGD of all of
// a client's rows. No actors, no cohort to draw, no checks: the yardstick for everything we add.

#pragma once

#include "data/table/dataset.hpp"
#include "models/training/client_rows.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace troupe::benchmarks {

/// A round's clients on `threads` threads, each with a share of them and a sum of its own. Returns the
/// next round's parameters: `start` moved by the mean update, weighed by rows.
std::vector<float> bare_round(const dataset& rows, const client_rows& clients,
                              std::span<const uint32_t> cohort, const std::vector<float>& start,
                              float learning_rate, size_t threads);

} // namespace troupe::benchmarks
