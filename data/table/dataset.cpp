#include "data/table/dataset.hpp"

#include "data/text/failure.hpp"
#include "data/text/shown_text.hpp"
#include "models/math/reduction.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>
#include <functional>

namespace troupe {

namespace {

constexpr auto is_finite = [](float x) { return std::isfinite(x); };

[[noreturn]] void refuse(const std::string& what) {
  throw failure(failure_code::bad_data, "the data set does not hold together: " + what, {},
                "rows are counted from 0; make values, numbers and names fit each other");
}

void require_count(const std::string& what, size_t found, size_t expected) {
  if (found != expected)
    refuse(fmt::format("{} {} instead of {}", found, what, expected));
}

/// `columns`: what the values of a row are called.
template <class Values, class Test>
void require_each(const Values& values, std::span<const std::string> columns, const char* problem,
                  const Test& is_right) {
  const auto at = static_cast<size_t>(std::ranges::find_if_not(values, is_right) - values.begin());
  if (at < values.size())
    refuse(fmt::format("row {}, {}: {} {}", at / columns.size(),
                       shown_text(columns[at % columns.size()]), values[at], problem));
}

void require_finite(std::span<const float> values, std::span<const std::string> columns,
                    bool has_gaps = false) {
  if (find_not_finite(std::array{values}) == 0) // a value at a time takes ten times as long
    require_each(values, columns, "is not finite",
                 [&](float x) { return is_finite(x) || (has_gaps && std::isnan(x)); });
}

/// What each row has one of: a number of `names`.
template <class Number>
void require_numbers(const std::string& what, const std::vector<Number>& numbers, size_t row_count,
                     const std::vector<std::string>& names) {
  require_count(what, numbers.size(), row_count);
  require_each(numbers, std::span{&what, 1}, "is the number of no name", [&](Number x) {
    return std::cmp_greater_equal(x, 0) && std::cmp_less(x, names.size());
  });
}

void require_sparse(const dataset& x) {
  const auto& [starts, features, values] = x.sparse;
  require_count("beginnings of sparse rows", starts.size(), x.row_count + 1);
  require_count("sparse features", features.size(), starts.back());
  require_count("sparse values", values.size(), starts.back());
  for (size_t i = 0; i < x.row_count; ++i) {
    const auto begin = i == 0 ? 0 : starts[i], end = starts[i + 1];
    if (starts[i] != begin || begin > end || end > values.size() ||
        !std::is_sorted(features.begin() + begin, features.begin() + end, std::less_equal{}) ||
        (begin < end && features[end - 1] >= x.feature_count) ||
        !std::all_of(values.begin() + begin, values.begin() + end, is_finite))
      refuse(fmt::format("row {}: its features do not rise below {}, or a value is not finite", i,
                         x.feature_count));
  }
}

void require_dense(const dataset& x) {
  const auto values = x.lent.exist() ? x.lent.values : std::span{x.features};
  require_count("names of features", x.feature_names.size(), x.feature_count);
  require_count("places of lent rows", x.lent.places.size(), 0); // parts of a data set have some
  require_count("feature values", values.size(), x.row_count * x.feature_count);
  require_finite(values, x.feature_names, x.columns.missing == missing_rule::mean);
}

} // namespace

void require_sound(const dataset& x) {
  const auto rows_with = [&](const auto& values) { return values.empty() ? 0 : x.row_count; };
  x.is_sparse() ? require_sparse(x) : require_dense(x);
  const bool has_classes = x.is_classification();
  require_count("targets a row", x.target_count, has_classes ? 0 : std::max(x.target_count, 1ul));
  require_count("names of targets", x.target_names.size(), has_classes ? 1 : x.target_count);
  require_count("target values", x.targets.size(), x.row_count * x.target_count);
  require_finite(x.targets, x.target_names);
  require_numbers("labels", x.labels, rows_with(x.classes), x.classes);
  require_numbers("clients", x.clients, rows_with(x.clients), x.client_names);
  require_numbers("groups", x.groups, rows_with(x.groups), x.group_names);
  const std::string weights = "weights";
  require_count(weights, x.weights.size(), rows_with(x.weights));
  require_each(x.weights, std::span{&weights, 1}, "is not finite or below 0",
               [](float weight) { return is_finite(weight) && weight >= 0; });
}

double total_squares(const dataset& rows) {
  if (rows.is_classification() || rows.row_count == 0)
    return 0;
  double total = 0;
  for (size_t t = 0; t < rows.target_count; ++t) {
    double mean = 0;
    for (size_t i = 0; i < rows.row_count; ++i)
      mean += rows.targets[i * rows.target_count + t];
    mean /= static_cast<double>(rows.row_count);
    for (size_t i = 0; i < rows.row_count; ++i) {
      const double difference = rows.targets[i * rows.target_count + t] - mean;
      total += difference * difference;
    }
  }
  return total;
}

column_statistics operator+(const column_statistics& a, const column_statistics& b) {
  if (a.row_count == 0 || b.row_count == 0)
    return a.row_count == 0 ? b : a;
  column_statistics result = a;
  result.row_count += b.row_count;
  const auto share = static_cast<double>(b.row_count) / static_cast<double>(result.row_count);
  const auto weight = static_cast<double>(a.row_count) * share;
  for (size_t j = 0; j < a.means.size(); ++j) {
    const double difference = b.means[j] - a.means[j];
    result.means[j] = a.means[j] + difference * share;
    result.squares[j] = a.squares[j] + b.squares[j] + difference * difference * weight;
  }
  return result;
}

column_statistics column_statistics_of(std::span<const float> rows, size_t feature_count) {
  column_statistics result;
  result.row_count = rows.size() / feature_count;
  result.means.assign(feature_count, 0);
  result.squares.assign(feature_count, 0);
  for (size_t i = 0; i < rows.size(); i += feature_count)
    for (size_t j = 0; j < feature_count; ++j)
      result.means[j] += rows[i + j];
  for (auto& mean : result.means)
    mean /= static_cast<double>(result.row_count);
  for (size_t i = 0; i < rows.size(); i += feature_count)
    for (size_t j = 0; j < feature_count; ++j) {
      const double difference = rows[i + j] - result.means[j];
      result.squares[j] += difference * difference;
    }
  return result;
}

} // namespace troupe
