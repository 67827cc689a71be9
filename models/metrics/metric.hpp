// A metric: a figure over rows beside the loss, such as the AUC or a mean absolute error.
//
//   predictions, truth --add--> sums of a chunk --added in the order of chunks--> value
//
// A metric is a fixed number of sums that start at 0. So each process judges the rows that it has,
// chunk by chunk, and the figure has the same bits whichever process judges which. It keeps nothing
// between calls: several threads use one object.
//
// A metric of one's own (docs/open.md) overrides the three functions below.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace troupe {

/// N rows and what a model made of them, Q predictions each: probabilities of classes (margins for the
/// hinge losses), or targets.
struct judged_rows {
  size_t row_count = 0;
  std::span<const float> predictions; ///< N x Q
  std::span<const int32_t> labels;    ///< N, each below Q; of a classification, else empty
  std::span<const float> targets;     ///< N x Q; of a regression, else empty

  size_t prediction_count() const { return row_count == 0 ? 0 : predictions.size() / row_count; }
  std::span<const float> row(size_t i) const {
    return predictions.subspan(i * prediction_count(), prediction_count());
  }
};

class metric {
public:
  virtual ~metric() = default;

  virtual size_t sum_count() const = 0; ///< S, >= 1

  /// Adds what these rows come to. `sums` (S) may hold that of others.
  virtual void add(const judged_rows& rows, std::span<double> sums) const = 0;

  /// Nothing where it is not defined, as for no rows.
  virtual std::optional<double> value(std::span<const double> sums) const = 0;
};

// The results of a job's metrics: sums on their way to be added up, and figures for people.

/// Sums of all metrics of a set over some rows: those that are not 0, by their place.
struct metric_sums {
  std::vector<uint32_t> places; ///< ascending
  std::vector<double> values;   ///< as many

  /// True when they are sums of a set of so many.
  bool fits(size_t sum_count) const {
    return places.size() == values.size() &&
           std::ranges::adjacent_find(places, std::greater_equal<>{}) == places.end() &&
           (places.empty() || places.back() < sum_count) &&
           std::ranges::all_of(values, [](double x) { return x != 0; });
  }
  void add_to(std::span<double> totals) const {
    for (size_t i = 0; i < places.size(); ++i)
      totals[places[i]] += values[i];
  }

  friend bool operator==(const metric_sums&, const metric_sums&) = default;
};

/// By column of the history; without a value where it was not measured.
using metric_figures = std::map<std::string, std::optional<double>>;

} // namespace troupe
