#include "models/base/bit_hash.hpp"
#include "models/base/rounding.hpp"
#include "models/kinds/probe.hpp"
#include "models/verify/verify.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>

namespace troupe {

namespace {

constexpr size_t point_count = 61; ///< no multiple of a vector's width
constexpr float step = 0x1p-7f;    ///< of differences, exact at these points
constexpr double tolerance =
  0x1p-5; ///< of a slope: the curve between two points, and rounding to float
constexpr float unwritten = -12345.5f; ///< stands where nothing was written

/// From -4 to 4 in steps of 2^-3 and a bit: exact in float, and on no corner of a usual function.
std::vector<float> points() {
  std::vector<float> result;
  for (size_t i = 0; i < point_count; ++i)
    result.push_back(-3.75f + 0.125f * static_cast<float>(i) + 0x1p-5f);
  return result;
}

std::vector<float> moved(std::vector<float> values, float by) {
  for (auto& value : values)
    value += by;
  return values;
}

bool have_same_bits(const std::vector<double>& a, const std::vector<double>& b) {
  return std::ranges::equal(a, b, [](double x, double y) {
    return std::bit_cast<uint64_t>(x) == std::bit_cast<uint64_t>(y);
  });
}

/// A function of single values, checked at points: values and slopes, in turn.
using curve = std::function<std::vector<double>(std::span<const float> x)>;

// A slope lies between those to the left and to the right, in corners too.
void check_slopes(std::vector<finding>& found, const curve& f) {
  const auto x = points();
  const auto here = f(x), below = f(moved(x, -step)), above = f(moved(x, step));
  for (size_t i = 0; i < point_count; ++i) {
    const double left = (here[2 * i] - below[2 * i]) / step;
    const double right = (above[2 * i] - here[2 * i]) / step;
    const double slope = here[2 * i + 1];
    const double room = tolerance * std::max({1.0, std::abs(left), std::abs(right)});
    if (slope >= std::min(left, right) - room && slope <= std::max(left, right) + room)
      continue;
    found.push_back({"gradient", "at " + std::to_string(x[i]),
                     "the derivative is " + std::to_string(slope) + ", differences say " +
                       std::to_string(left) + " to the left and " + std::to_string(right) +
                       " to the right"});
    return;
  }
}

void check_pieces(std::vector<finding>& found, const curve& f) {
  const auto x = points();
  const auto whole = f(x);
  if (!have_same_bits(whole, f(x)))
    found.push_back({"pure", "evaluate", "the same arguments give other bits"});
  std::vector<double> parts;
  for (size_t begin = 0, size = 1; begin < point_count; begin += size, size += 2) {
    const auto part = f(std::span{x}.subspan(begin, std::min(size, point_count - begin)));
    parts.insert(parts.end(), part.begin(), part.end());
  }
  if (!have_same_bits(whole, parts))
    found.push_back({"pieces", "evaluate", "an element is another one among others"});
}

} // namespace

std::vector<finding> verify_loss(const own_loss& x) {
  const default_rounding rounding;
  std::vector<finding> found;
  const auto curve_at = [&x](float target, double unset) {
    return [&x, target, unset](std::span<const float> scores) {
      const std::vector<float> targets(scores.size(), target);
      std::vector<loss_value> out(scores.size(), {unset, unset});
      x.evaluate(scores, targets, out);
      std::vector<double> result;
      for (const auto& one : out)
        result.insert(result.end(), {one.value, one.derivative});
      return result;
    };
  };
  const auto least = static_cast<float>(std::max(0.0, x.least_target));
  for (const float target :
       x.is_binary ? std::vector{0.0f, 1.0f} : std::vector{least + 0.5f, least + 1.5f}) {
    const size_t before = found.size();
    const curve f = curve_at(target, unwritten);
    if (!have_same_bits(f(points()), curve_at(target, 0)(points())))
      found.push_back({"written", "evaluate", "a value was left as it was, or added to"});
    check_pieces(found, f);
    check_slopes(found, f);
    for (; found.size() > before && !found.back().where.ends_with(')');)
      found.back().where += " (target " + std::to_string(target) + ')';
  }
  for (const float score : points())
    if (const double p = x.is_binary && x.predicted ? x.predicted(score) : 0.5;
        !(p >= 0 && p <= 1)) {
      found.push_back({"predicted", "at " + std::to_string(score),
                       std::to_string(p) + " is no probability of the second class"});
      break;
    }
  return found;
}

std::vector<finding> verify_activation(const own_activation& x) {
  const default_rounding rounding;
  std::vector<finding> found;
  const auto evaluate = [&x](std::span<const float> in, float unset, bool derives) {
    std::vector<float> values(in.size(), unset), slopes(derives ? in.size() : 0, unset);
    x.evaluate(in, values, slopes);
    std::vector<double> result;
    for (size_t i = 0; i < in.size(); ++i)
      result.insert(result.end(), {values[i], derives ? slopes[i] : 0});
    return result;
  };
  const curve f = [&](std::span<const float> in) { return evaluate(in, unwritten, true); };
  const auto whole = f(points());
  if (!have_same_bits(whole, evaluate(points(), 0, true)))
    found.push_back({"written", "evaluate", "a value was left as it was, or added to"});
  auto alone = evaluate(points(), unwritten, false);
  for (size_t i = 0; i < point_count; ++i)
    alone[2 * i + 1] = whole[2 * i + 1];
  if (!have_same_bits(whole, alone))
    found.push_back({"pure", "evaluate", "values are others when no derivative is wanted"});
  check_pieces(found, f);
  check_slopes(found, f);
  return found;
}

std::vector<finding> verify_schedule(const own_schedule& x) {
  std::vector<finding> found;
  std::vector<double> forwards, backwards;
  for (uint64_t t = 0; t < 1000; ++t)
    forwards.push_back(x.factor(t, t < 500 ? 100 : 7));
  for (uint64_t t = 1000; t-- > 0;)
    backwards.insert(backwards.begin(), x.factor(t, t < 500 ? 100 : 7));
  if (!have_same_bits(forwards, backwards))
    found.push_back({"pure", "factor", "a step has another factor when it is asked for again"});
  const auto bad =
    std::ranges::find_if(forwards, [](double f) { return !std::isfinite(f) || f < 0; });
  if (bad != forwards.end())
    found.push_back({"not finite", "step " + std::to_string(bad - forwards.begin()) + " of 100",
                     std::to_string(*bad) + " is no finite factor of at least 0"});
  return found;
}

std::vector<finding> verify_merge(const own_merge& x) {
  const default_rounding rounding;
  std::vector<finding> found;
  const auto main = made_values(1, 0, point_count, -1, 1);
  std::vector<std::vector<float>> models;
  for (size_t i = 0; i < std::max<size_t>(x.least, 3); ++i)
    models.push_back(made_values(1, i + 1, point_count, -1, 1));
  const auto merged = [&](size_t begin, size_t end, float unset) {
    std::vector<merged_part> parts;
    for (size_t i = 0; i < models.size(); ++i)
      parts.push_back({i, std::span{models[i]}.subspan(begin, end - begin), 10 * (i + 1)});
    std::vector<float> out(end - begin, unset);
    x.merge(parts, std::span{main}.subspan(begin, end - begin), out);
    return std::vector<double>(out.begin(), out.end());
  };
  const auto whole = merged(0, point_count, unwritten);
  if (!have_same_bits(whole, merged(0, point_count, 0)))
    found.push_back(
      {"written", "merge", "a value was left as it was, or added to, or differs each time"});
  auto parts = merged(0, 7, unwritten);
  for (const auto rest = merged(7, point_count, unwritten); const double value : rest)
    parts.push_back(value);
  if (!have_same_bits(whole, parts))
    found.push_back({"pieces", "merge", "an element is another one in a piece of the models"});
  if (!std::ranges::all_of(whole, [](double value) { return std::isfinite(value); }))
    found.push_back({"not finite", "merge", "finite models give a value that is not"});
  return found;
}

std::vector<finding> verify_result_rule(const own_result_rule& x) {
  const auto figures = made_values(1, 1, point_count, 0.5f, 2);
  std::vector<seen_result> seen;
  for (size_t i = 0; i < point_count; ++i)
    seen.push_back({10 * i, figures[i]});
  std::vector<bool> forwards, backwards;
  for (size_t i = 1; i <= point_count; ++i)
    forwards.push_back(x.fires(std::span{seen}.first(i)));
  for (size_t i = point_count; i > 0; --i) // as after a checkpoint: nothing was asked before
    backwards.insert(backwards.begin(), x.fires(std::span{seen}.first(i)));
  if (forwards != backwards)
    return {{"pure", "fires", "the answer depends on what was asked before"}};
  return {};
}

} // namespace troupe
