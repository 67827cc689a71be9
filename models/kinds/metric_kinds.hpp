// The table of the kinds of `training.metrics`: the library's own, and those that an application
// adds. A kind's options have their defaults.

#pragma once

#include "models/kinds/kind_table.hpp"
#include "models/metrics/metric.hpp"
#include "models/network/model.hpp"

namespace troupe {

/// What a metric judges. A factory throws std::invalid_argument, with why, where it has nothing to say.
struct metric_input {
  size_t predictions = 0; ///< Q, of a row
  loss_options loss;

  bool is_classification() const { return troupe::is_classification(loss.kind); }
  bool has_probabilities() const { return is_classification() && !gives_margins(loss.kind); }
};

using metric_table = kind_table<metric, metric_input>;

/// The process's; also of threads that come and go.
metric_table& metrics();

} // namespace troupe
