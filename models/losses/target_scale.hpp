// Target scales: a regression learns targets of any size as numbers around 0.
//
//   target y --transform--> t --(t - mean) / deviation--> scaled target, which a score is compared with
//   score s --s deviation + mean--> t --inverse--> prediction, in the unit of y
//
// A scale belongs to a model's loss: rows keep their targets, and predictions, errors and metrics are in
// their unit. Only the loss itself is that of scaled targets.
//
// Predictions by a logarithm are nearer to the median of skewed targets than to their mean.

#pragma once

#include "models/base/names.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace troupe {

/// The transform before the affine map to mean 0 and deviation 1 over the training rows:
/// - standardize: t = y
/// - log:         t = log y, y > 0
/// - log1p:       t = log(1 + y), y > -1
/// - asinh:       t = asinh y, about sign(y) log(2 |y|): amounts of both signs (Burbidge, Magee & Robb 1988)
/// - none:        targets stay as they are, without an affine map either
enum class target_scale_kind : uint8_t { none, standardize, log, log1p, asinh };

template <>
struct name_table<target_scale_kind> {
  static constexpr std::array entries{
    named(target_scale_kind::none, "none"), named(target_scale_kind::standardize, "standardize"),
    named(target_scale_kind::log, "log"), named(target_scale_kind::log1p, "log1p"),
    named(target_scale_kind::asinh, "asinh")};
};

/// Whether a transform is defined for a target.
constexpr bool accepts_target(target_scale_kind kind, double target) {
  return kind == target_scale_kind::log     ? target > 0
         : kind == target_scale_kind::log1p ? target > -1
                                            : true;
}

/// What `accepts_target` asks for, in words behind "needs targets"; empty when any number will do.
constexpr std::string_view target_demand(target_scale_kind kind) {
  return kind == target_scale_kind::log     ? "above 0"
         : kind == target_scale_kind::log1p ? "above -1"
                                            : "";
}

/// A kind with the numbers of T targets.
struct target_scale {
  target_scale_kind kind = target_scale_kind::none;
  std::vector<float> mean;      ///< T, of transformed targets; empty: none
  std::vector<float> deviation; ///< T, above 0; likewise

  bool is_none() const { return kind == target_scale_kind::none; }

  /// Of target number t; not finite where the transform is not defined.
  float scaled(float target, size_t t) const;
  /// The prediction of a score. Kept within the range of float: no finite score gives infinity.
  float unscaled(float score, size_t t) const;

  friend bool operator==(const target_scale&, const target_scale&) = default;
};

/// Finds the numbers of a scale from rows in their order (Welford 1962): the same wherever they come from.
class target_scale_fit {
public:
  target_scale_fit(target_scale_kind kind, size_t target_count)
    : kind_(kind), means_(target_count), squares_(target_count) {}

  /// Adds rows of T targets each. Targets that the transform is not defined for are left out: who trains
  /// refuses them (`accepts_target`).
  void add(std::span<const float> targets);

  /// The same for rows whose transformed targets have so many, these means and sums of squared differences from them.
  void set(uint64_t row_count, std::vector<double> means, std::vector<double> squares) {
    row_count_ = row_count;
    means_ = std::move(means);
    squares_ = std::move(squares);
  }
  uint64_t row_count() const { return row_count_; }
  const std::vector<double>& means() const { return means_; }
  const std::vector<double>& squares() const { return squares_; }

  /// Deviations have divisor n; those of targets that do not vary are 1.
  target_scale result() const;

private:
  target_scale_kind kind_;
  uint64_t row_count_ = 0;
  std::vector<double> means_;
  std::vector<double> squares_;
};

} // namespace troupe
