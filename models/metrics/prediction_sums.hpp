// How good predictions are: counts for classes, sums for numbers. Both add up part by part, so rows
// can be judged as they are read; the collector combines sums in the canonical tree
// (tree_accumulator.hpp).

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace troupe {

/// Precision, recall and their harmonic mean of one class, or averages of them.
struct class_scores {
  double precision = 0; ///< right among those predicted as the class; 0 when none was
  double recall = 0;    ///< right among those that are of the class; 0 when none is
  double f1 = 0;        ///< 2 p r / (p + r); 0 when both are

  friend bool operator==(const class_scores&, const class_scores&) = default;
};

/// Counts of (actual, predicted) pairs for C classes.
class confusion_matrix {
public:
  /// Throws std::invalid_argument for no classes.
  explicit confusion_matrix(size_t class_count);
  /// Of counts (C x C) that were made elsewhere.
  confusion_matrix(size_t class_count, std::span<const double> counts);

  /// Counts one row. Throws std::invalid_argument for a class that is not below C.
  void add(size_t actual, size_t predicted);

  size_t class_count() const noexcept { return class_count_; }
  uint64_t count(size_t actual, size_t predicted) const {
    return counts_[actual * class_count_ + predicted];
  }
  uint64_t actual_count(size_t label) const;    ///< the sum of a row: rows of the class
  uint64_t predicted_count(size_t label) const; ///< the sum of a column
  uint64_t total() const;
  uint64_t correct() const; ///< the sum of the diagonal

  /// Share of rows predicted right; nothing without rows.
  std::optional<double> accuracy() const;

  class_scores scores(size_t label) const;

  /// Unweighted means over the classes that occur, as label or as prediction (scikit-learn's
  /// "macro"); zeros without rows.
  class_scores macro() const;
  /// The unweighted mean of the recall over the classes that occur as label; 0 without rows.
  double balanced_accuracy() const;

private:
  size_t class_count_;
  std::vector<uint64_t> counts_; ///< C x C, actual by row
};

/// Mean and sum of squared distances from it of n numbers, in a form that adds up without
/// cancellation (Chan, Golub & LeVeque 1979): d = mean_b - mean_a, n = n_a + n_b,
///   mean = mean_a + d n_b / n,   squares = squares_a + squares_b + d^2 n_a n_b / n.
struct moments {
  uint64_t count = 0;
  double mean = 0;
  double squares = 0;

  friend moments operator+(const moments& a, const moments& b);
  friend bool operator==(const moments&, const moments&) = default;
};

/// What is summed of N predictions of T targets.
struct regression_sums {
  uint64_t count = 0; ///< N T
  double squared_error_sum = 0;
  double absolute_error_sum = 0;
  std::vector<moments> targets; ///< T; empty when there were no rows

  friend regression_sums operator+(const regression_sums& a, const regression_sums& b);
  friend bool operator==(const regression_sums&, const regression_sums&) = default;

  /// Means over all N T errors; nothing without rows.
  std::optional<double> mean_squared_error() const;
  std::optional<double> mean_absolute_error() const;

  /// 1 - squared errors / squares around each target's own mean, both over all targets: 1 is
  /// perfect, 0 as good as the mean. Nothing without rows, and when the targets do not vary.
  std::optional<double> r2() const;
};

/// Sums over N x T predictions and targets, in lanes. Throws std::invalid_argument when sizes
/// differ or are no multiple of `target_count`.
regression_sums compare(std::span<const float> predictions, std::span<const float> targets,
                        size_t target_count);

/// What a tensor's values look like.
struct tensor_figures {
  double norm = 0;   ///< L2, over the finite values
  float minimum = 0; ///< of the finite values; 0 when there is none
  float maximum = 0; ///< of the finite values; 0 when there is none
  size_t not_finite_count = 0;

  friend bool operator==(const tensor_figures&, const tensor_figures&) = default;
};

tensor_figures figures_of(std::span<const float> values);

} // namespace troupe
