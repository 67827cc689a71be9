// How much each of several models counts in their weighted average.
//
// All functions return n weights that are >= 0 and add up to 1 (to rounding), in the order of their
// arguments. Where models are judged on validation rows (X, y), the accuracies are
//   regression:      e_i = sum |y - y_i|,  w_i = (1 - e_i / sum_j e_j) / (n - 1)
//   classification:  the share of rows predicted right, divided by the sum of all shares
// with n = 1 -> 1; where the models do not differ (all e = 0, or none has a row right) each counts
// the same.

#pragma once

#include "models/base/batch.hpp"
#include "models/base/names.hpp"
#include "models/network/model.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace troupe {

/// By what a weighted average weighs.
enum class merge_weighting : uint8_t {
  equal,   ///< 1 / n
  ratio,   ///< accuracies on validation rows
  best,    ///< all on the most accurate model
  custom,  ///< given numbers, divided by their sum
  samples, ///< rows each model was trained on: federated averaging
  ignore   ///< as `equal`, and no number that came with a model is looked at, whatever it is
};

template <>
struct name_table<merge_weighting> {
  static constexpr std::array entries{
    named(merge_weighting::equal, "equal"),     named(merge_weighting::ratio, "ratio"),
    named(merge_weighting::best, "best"),       named(merge_weighting::custom, "custom"),
    named(merge_weighting::samples, "samples"), named(merge_weighting::ignore, "ignore")};
};

/// How well a model does on validation rows.
struct judgement {
  bool classification = false;
  double absolute_error_sum = 0; ///< regression: over rows and targets
  uint64_t correct_count = 0;    ///< classification: rows predicted right
  uint64_t sample_count = 0;

  friend bool operator==(const judgement&, const judgement&) = default;
};

/// Judges `parameters` on rows: a classification when they have labels, else a regression. Throws
/// std::invalid_argument for no rows.
judgement judge(const model& network, std::span<const float> parameters, const batch& rows,
                workspace& memory);

/// 1 / n each. Throws std::invalid_argument for n = 0, as all of these do.
std::vector<double> equal_weights(size_t n);

/// Weights of regressions from their e_i. Throws std::invalid_argument for a negative e or one that
/// is not finite.
std::vector<double> regression_weights(std::span<const double> error_sums);

/// Weights of classifications from their shares of right rows. Throws std::invalid_argument for a
/// share outside [0, 1].
std::vector<double> classification_weights(std::span<const double> accuracies);

/// Whichever of the two the judgements are of. Throws std::invalid_argument when they are of both.
std::vector<double> accuracy_weights(std::span<const judgement> judgements);

/// 1 for the first of the strictly highest, 0 for the others: where none is higher than another
/// (all 0, say) the first, by the order of children, is taken.
std::vector<double> best_weights(std::span<const double> accuracies);

/// The numbers divided by their sum. Throws std::invalid_argument for a negative number, one that
/// is not finite, or a sum of 0.
std::vector<double> custom_weights(std::span<const double> numbers);

/// n_i / sum n (McMahan et al. 2017, "Communication-efficient learning of deep networks from
/// decentralized data"). Throws std::invalid_argument when no model has a sample.
std::vector<double> sample_weights(std::span<const uint64_t> sample_counts);

} // namespace troupe
