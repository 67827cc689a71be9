// Score counts: how well probabilities of classes rank rows, and whether they mean what they say.
//
//   AUC           of a class: how likely a row of it has a higher probability of it than a row of others
//   calibration   rows whose likeliest class is given about p should be of it p times out of one
//   Brier score   mean squared distance between the probabilities and the truth
//
// All are functions of whole numbers: probabilities are counted in bins, and sums are kept in steps of
// 2^-32. So parts add up to the same bits in any order and however rows are cut.
//
// Bins of the AUC are as fine as probabilities are interesting: 32 for each halving of p below 1/2, and
// of 1 - p above it, down to 2^-32. Rows of one bin count as ties, 1/2 each; `auc` says how far that can
// be from the AUC of the probabilities themselves: half the pairs that share a bin.
//
// Sources: Hanley & McNeil 1982 (AUC as a rank statistic); Guo et al. 2017 (expected calibration error,
// equal bins of confidence); Brier 1950 (of two classes halved, as usual since).

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace troupe {

/// An AUC, and how far that of the uncounted probabilities may be from it.
struct auc_figure {
  double value = 0;
  double error_max = 0;

  friend bool operator==(const auc_figure&, const auc_figure&) = default;
};

/// Rows whose likeliest class was given a probability in ((k) / 15, (k + 1) / 15].
struct confidence_bin {
  uint64_t row_count = 0;
  uint64_t correct_count = 0;
  uint64_t confidence_sum = 0; ///< in steps of 2^-32

  double accuracy() const;   ///< of row_count > 0
  double confidence() const; ///< likewise: the mean
  friend bool operator==(const confidence_bin&, const confidence_bin&) = default;
};

class score_counts {
public:
  static constexpr size_t confidence_bin_count = 15;

  /// Throws std::invalid_argument for fewer than two classes.
  explicit score_counts(size_t class_count);

  /// One row: C probabilities, each from 0 to 1, and its class. A row with a probability that is none
  /// (not a number, or out of these bounds) is counted apart and judged by nothing. Throws
  /// std::invalid_argument for another number of them, or a class that is not below C.
  void add(std::span<const float> probabilities, size_t label);

  /// What both have seen. Throws std::invalid_argument when class counts differ.
  void add(const score_counts& other);

  size_t class_count() const noexcept { return class_count_; }
  uint64_t row_count() const { return row_count_; }
  uint64_t refused_count() const { return refused_count_; } ///< rows without probabilities

  /// Of one class against all others; nothing when there are no rows of it, or of no other.
  std::optional<auc_figure> auc(size_t label) const;
  /// The unweighted mean over classes that have one: of two classes that of either.
  std::optional<auc_figure> macro_auc() const;

  const std::array<confidence_bin, confidence_bin_count>& confidence_bins() const { return bins_; }
  /// Sum over bins of (rows / N) |accuracy - confidence|; nothing without rows.
  std::optional<double> calibration_error() const;
  /// Mean over rows of sum_c (p_c - [c is the class])^2, halved for two classes; nothing without rows.
  std::optional<double> brier() const;

  friend bool operator==(const score_counts&, const score_counts&) = default;

private:
  static constexpr size_t steps_per_halving = 32;
  static constexpr size_t halvings = 32;
  static constexpr size_t half = steps_per_halving * halvings; ///< bins below 1/2, and above it

  /// Ascending with p.
  static size_t bin_of(float probability);
  struct pair_count {
    uint64_t own = 0; ///< rows of the class
    uint64_t all = 0;

    friend bool operator==(const pair_count&, const pair_count&) = default;
  };

  size_t class_count_;
  uint64_t row_count_ = 0;
  uint64_t refused_count_ = 0;
  std::vector<pair_count> counts_; ///< C x 2 half
  std::array<confidence_bin, confidence_bin_count> bins_{};
  uint64_t square_sum_ = 0; ///< in steps of 2^-32, of halved distances
};

} // namespace troupe
