// A data set in memory: rows of float32 features, dense or sparse, and, per row, either a class number or real
// targets. Immutable once made and shared by all replicas of a process.

#pragma once

#include "data/table/column_plan.hpp"
#include "models/base/batch.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace troupe {

// Sparse rows in memory (models/base/batch.hpp), one behind the other: 8 bytes an entry and 8 a
// row.

/// Shapes: N rows, E entries. Without `starts` it is none at all; of no rows it is {0}.
struct sparse_matrix {
  std::vector<uint64_t> starts;   ///< N + 1: row i has the entries starts[i] .. starts[i + 1] - 1
  std::vector<uint32_t> features; ///< E, rising within a row
  std::vector<float> values;      ///< E

  bool exists() const { return !starts.empty(); }
  size_t row_count() const { return exists() ? starts.size() - 1 : 0; }

  /// Rows [begin, begin + count), without a copy.
  sparse_rows rows(size_t begin, size_t count) const {
    if (!exists())
      return {};
    const auto all = std::span{starts};
    return {all.subspan(begin, count), all.subspan(begin + 1, count), features.data(),
            values.data()};
  }

  friend bool operator==(const sparse_matrix&, const sparse_matrix&) = default;
};

/// Dense rows that somebody else owns, who keeps them as they are.
struct lent_rows {
  std::span<const float> values;  ///< M x F, row-major, finite; empty: none are lent
  std::vector<uint32_t> places{}; ///< which of them each row is; empty: the one of its number

  bool exist() const { return !values.empty(); }
  friend bool operator==(const lent_rows& a, const lent_rows& b) {
    return a.values.data() == b.values.data() && a.values.size() == b.values.size() &&
           a.places == b.places;
  }
};

/// Shapes: N rows, F features, T targets.
struct dataset {
  size_t row_count = 0;        ///< N
  size_t feature_count = 0;    ///< F
  std::vector<float> features; ///< N x F, row-major, finite; empty: rows are sparse or lent
  std::vector<std::string> feature_names; ///< F; sparse rows have none
  sparse_matrix sparse = {};              ///< N rows, finite; none: rows are dense
  lent_rows lent = {}; ///< as they were read, whatever is done to others: never standardised

  /// Classification: the class of each row, 0 .. classes.size() - 1 (N); else empty.
  std::vector<int32_t> labels;
  /// Classification: text of each class, sorted as numbers if all are numbers, else by bytes.
  std::vector<std::string> classes;

  /// Regression: N x T, row-major, finite; else empty.
  std::vector<float> targets;
  size_t target_count = 0;               ///< T; 0 for classification
  std::vector<std::string> target_names; ///< T names; for classification the label's one name

  /// Whose each row is (N), where rows say so; else empty. Numbers of `client_names`, which are sorted;
  /// rows kept apart for testing and validation have the numbers without the names.
  std::vector<uint32_t> clients = {};
  std::vector<std::string> client_names = {};

  /// What each row counts in the loss (N, finite, >= 0); empty: all 1.
  std::vector<float> weights = {};
  /// Of which group each row is (N), where groups stay in one part: numbers of `group_names`, which are sorted.
  /// Prepared rows have none.
  std::vector<uint32_t> groups = {};
  std::vector<std::string> group_names = {};

  /// How cells became features; empty: they are numbers. Where it fills gaps, NaN is one until the rows are
  /// prepared (training_rows/prepare.hpp).
  column_plan columns = {};
  std::vector<std::string> remarks = {}; ///< what reading left out or did not know: for a warning

  /// Rows of a sequence, of which each has something in common with so many that follow: parts are cut by
  /// position, so many rows apart. Absent: rows are drawn for them, one by one. Prepared rows have none.
  std::optional<size_t> overlap = {};

  bool is_sparse() const { return sparse.exists(); }
  bool is_classification() const { return !classes.empty(); }
  /// Of dense rows, lent or not.
  std::span<const float> row(size_t i) const {
    if (!lent.exist())
      return {features.data() + i * feature_count, feature_count};
    const size_t place = lent.places.empty() ? i : lent.places[i];
    return lent.values.subspan(place * feature_count, feature_count);
  }

  friend bool operator==(const dataset&, const dataset&) = default;
};

/// Sum of squares of the targets (of the test rows, say) around their mean, over rows and targets;
/// 0 for a classification. What R^2 compares the squared errors with.
double total_squares(const dataset& rows);

/// Throws failure(bad_data), naming the row, the column and the value, for what a dataset may not have:
/// other numbers of values than the shape has, a label, client or group that there is not, a value that is not
/// finite (gaps that the columns' plan fills are none), a weight below 0.
void require_sound(const dataset& x);

// Mean and spread of each column over rows that come part by part. Parts are put together exactly
// enough and in a fixed tree, so the same parts give the same bits wherever they are counted.
// Source: T. Chan, G. Golub, R. LeVeque, "Algorithms for computing the sample variance", 1983.

/// Of n rows with F columns; without rows the empty one.
struct column_statistics {
  uint64_t row_count = 0;      ///< n
  std::vector<double> means;   ///< F
  std::vector<double> squares; ///< F: sums of squared differences from the means

  /// Of the rows of both.
  friend column_statistics operator+(const column_statistics& a, const column_statistics& b);
  friend bool operator==(const column_statistics&, const column_statistics&) = default;
};

/// Of `rows` (n x F, row-major).
column_statistics column_statistics_of(std::span<const float> rows, size_t feature_count);

} // namespace troupe
