// Metrics of classifications: how well probabilities rank rows, whether they mean what they say, and
// how right the likeliest class is.
//
//   auc                 of a class: how likely a row of it has a higher probability of it than a row of
//                       others; the mean over classes
//   average-precision   of a class: the precision at each threshold, weighted by the recall it adds; of two classes
//                       that of the second, else the mean (Zhu 2004)
//   calibration-error   rows whose likeliest class is given about p should be of it p times out of one
//   brier               mean squared distance between the probabilities and the truth
//   macro-f1, balanced-accuracy   means over classes of F1 and recall
//
// Sums are whole numbers: probabilities are counted in bins, and sums of them kept in steps of 2^-32. So
// up to 2^21 rows they add up to the same bits in any order and however rows are cut.
//
// Bins of the AUC are as fine as probabilities are interesting: 32 for each halving of p below 1/2, and
// of 1 - p above it, down to 2^-32. Rows of one bin count as ties, 1/2 each; `auc_figure` says how far
// that can be from the AUC of the probabilities themselves: half the pairs that share a bin.
//
// Rows with a probability that is none (not a number, or not from 0 to 1) are judged by none of the
// first three.
//
// Sources: Hanley & McNeil 1982 (AUC as a rank statistic); Guo et al. 2017 (expected calibration error,
// equal bins of confidence); Brier 1950 (of two classes halved, as usual since).

#pragma once

#include "models/metrics/metric.hpp"

#include <array>

namespace troupe {

/// An AUC, and how far that of the uncounted probabilities may be from it.
struct auc_figure {
  double value = 0;
  double error_max = 0;

  friend bool operator==(const auc_figure&, const auc_figure&) = default;
};

class auc_metric : public metric {
public:
  /// Throws std::invalid_argument for fewer than two classes. So do the others.
  explicit auc_metric(size_t class_count);

  size_t sum_count() const override { return 2 * class_count_ * bin_count; }
  void add(const judged_rows& rows, std::span<double> sums) const override;
  std::optional<double> value(std::span<const double> sums) const override;

  /// Of one class against all others; nothing when there are no rows of it, or of no other.
  std::optional<auc_figure> of_class(std::span<const double> sums, size_t label) const;
  /// The unweighted mean over classes that have one: of two classes that of either.
  std::optional<auc_figure> macro(std::span<const double> sums) const;

protected:
  /// The unweighted mean over classes that have one of `of_one(counts)`; of two classes that of the second.
  /// `counts`: of each bin, ascending, rows of the class and all rows.
  std::optional<double>
  mean_over_classes(std::span<const double> sums,
                    std::optional<double> (*of_one)(std::span<const double> counts)) const;

private:
  static constexpr size_t bin_count = 2'048;

  size_t class_count_;
};

/// From the counts of the AUC: a bin is a threshold.
class average_precision_metric final : public auc_metric {
public:
  using auc_metric::auc_metric;

  std::optional<double> value(std::span<const double> sums) const override;
};

class brier_metric final : public metric {
public:
  explicit brier_metric(size_t class_count);

  size_t sum_count() const override { return 2; }
  void add(const judged_rows& rows, std::span<double> sums) const override;
  /// Mean over rows of sum_c (p_c - [c is the class])^2, halved for two classes.
  std::optional<double> value(std::span<const double> sums) const override;

private:
  size_t class_count_;
};

/// Rows whose likeliest class was given a probability in (k / 15, (k + 1) / 15].
struct confidence_bin {
  double row_count = 0;
  double accuracy = 0;   ///< 0 without rows
  double confidence = 0; ///< likewise: the mean
};

class calibration_metric final : public metric {
public:
  static constexpr size_t bin_count = 15;

  explicit calibration_metric(size_t class_count);

  size_t sum_count() const override { return 3 * bin_count; }
  void add(const judged_rows& rows, std::span<double> sums) const override;
  /// Sum over bins of (rows / N) |accuracy - confidence|.
  std::optional<double> value(std::span<const double> sums) const override;

  std::array<confidence_bin, bin_count> bins(std::span<const double> sums) const;

private:
  size_t class_count_;
};

/// Means over the classes that occur, from the counts of (actual, predicted) pairs.
class confusion_metric final : public metric {
public:
  enum class figure : uint8_t { macro_f1, balanced_accuracy };

  confusion_metric(size_t class_count, figure shown);

  size_t sum_count() const override { return class_count_ * class_count_; }
  void add(const judged_rows& rows, std::span<double> sums) const override;
  std::optional<double> value(std::span<const double> sums) const override;

private:
  size_t class_count_;
  figure shown_;
};

} // namespace troupe
