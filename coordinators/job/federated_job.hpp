// What a job says of federated training: section `federated` (coordinators/modes/federated_rounds.hpp).

#pragma once

#include "coordinators/job/job.hpp"
#include "coordinators/modes/federated_rounds.hpp"

#include <cstddef>

namespace troupe {

inline bool is_federated(const training_options& x) {
  return x.strategy == strategy_kind::federated;
}

/// What is wrong with the section, or with what a federated job combines it with.
void check_federated(problem_list& check, const job& x);

/// What of a resolved federated job does not fit its training rows.
void check_federated_with_data(problem_list& check, const job& resolved, size_t train_row_count,
                               bool classification);

/// The rounds of a resolved federated job.
federated_options federated_options_of(const job& resolved);

/// How its training rows become clients'.
partition_options partition_of(const job& x);

/// Rows that a round trains on, about, each as often as it does.
uint64_t rows_of_round(const job& resolved, size_t train_row_count);

} // namespace troupe
