// What a user says of an optimizer: its kind, its rate and its constants, with the papers'
// defaults.

#pragma once

#include "troupe/models/names.hpp"
#include "troupe/models/schedule.hpp"

#include <cstdint>

namespace troupe {

enum class optimizer_kind : uint8_t { sgd, adam };

template <>
struct name_table<optimizer_kind> {
  static constexpr std::array entries{named(optimizer_kind::sgd, "sgd"),
                                      named(optimizer_kind::adam, "adam")};
};

struct optimizer_options {
  optimizer_kind kind = optimizer_kind::sgd;
  double learning_rate = 0.01; ///< base rate, > 0, times the schedule's factor
  double momentum = 0;         ///< sgd: 0 (none) .. below 1
  bool nesterov = false;       ///< sgd: look ahead along the momentum (needs momentum > 0)
  double beta1 = 0.9;          ///< adam: decay of the first moment, 0 .. below 1
  double beta2 = 0.999;        ///< adam: decay of the second moment, 0 .. below 1
  double epsilon = 1e-8;       ///< adam: > 0
  schedule_options schedule;

  friend bool operator==(const optimizer_options&, const optimizer_options&) = default;
};

} // namespace troupe
