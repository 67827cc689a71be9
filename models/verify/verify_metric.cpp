#include "models/base/bit_hash.hpp"
#include "models/base/rounding.hpp"
#include "models/verify/verify.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace troupe {

namespace {

/// Rows of a batch, and what was true of them.
struct made_rows {
  made_rows(const metric_input& input, const verify_options& options)
    : row_count(std::max<size_t>(options.rows, 4)),
      columns(input.predictions),
      predictions(made_values(options.seed, 1, row_count * columns, 0, 1)),
      targets(input.is_classification()
                ? std::vector<float>{}
                : made_values(options.seed, 2, row_count * columns, 0.5f, 2)) {
    for (size_t i = 0; input.is_classification() && i < row_count; ++i)
      labels.push_back(static_cast<int32_t>(i % columns));
  }

  judged_rows part(size_t begin, size_t end) const {
    const auto count = end - begin;
    const auto values = [&](const std::vector<float>& all) {
      return all.empty() ? std::span<const float>{}
                         : std::span{all}.subspan(begin * columns, count * columns);
    };
    return {count, values(predictions),
            labels.empty() ? std::span<const int32_t>{} : std::span{labels}.subspan(begin, count),
            values(targets)};
  }

  size_t row_count;
  size_t columns;
  std::vector<float> predictions;
  std::vector<float> targets;
  std::vector<int32_t> labels;
};

// To what adding in another order rounds.
bool are_near(double a, double b) {
  return std::abs(a - b) <= 1e-9 * std::max({1.0, std::abs(a), std::abs(b)});
}

bool have_same_bits(const std::vector<double>& a, const std::vector<double>& b) {
  return std::ranges::equal(a, b, [](double x, double y) {
    return std::bit_cast<uint64_t>(x) == std::bit_cast<uint64_t>(y);
  });
}

} // namespace

std::vector<finding> verify_metric(const metric& x, const metric_input& input,
                                   const verify_options& options) {
  const default_rounding rounding;
  std::vector<finding> found;
  if (x.sum_count() == 0)
    return {{"counted", "sum_count", "there are no sums: nothing could be added up"}};
  const made_rows rows{input, options};
  const std::vector<double> zeros(x.sum_count());
  const auto added = [&](std::vector<double> sums, size_t begin, size_t end) {
    x.add(rows.part(begin, end), sums);
    return sums;
  };
  const auto whole = added(zeros, 0, rows.row_count);
  if (!have_same_bits(whole, added(zeros, 0, rows.row_count)))
    found.push_back({"pure", "add", "the same rows come to other sums"});
  const auto middle = rows.row_count / 3;
  const auto parts = added(added(zeros, 0, middle), middle, rows.row_count);
  for (size_t i = 0; i < whole.size(); ++i)
    if (!are_near(parts[i], whole[i])) {
      found.push_back({"sums", "sum " + std::to_string(i),
                       "rows in two parts come to " + std::to_string(parts[i]) + ", together to " +
                         std::to_string(whole[i]) +
                         ": `add` must add to what is there, and to no mean"});
      break;
    }
  const auto first = x.value(whole);
  if (const auto again = x.value(whole); first != again)
    found.push_back({"pure", "value", "the same sums have another figure"});
  if (!first || !std::isfinite(*first))
    found.push_back({"not finite", "value", "rows of every class have no figure that is a number"});
  return found;
}

} // namespace troupe
