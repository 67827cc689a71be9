#include "troupe/models/training/score_counts.hpp"

#include "troupe/models/base/numerics.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <stdexcept>
#include <string>

namespace troupe {

namespace {

/// What sums are counted in: of 2^32 rows no sum overflows.
constexpr double steps = 0x1p32;

void require(bool holds, const std::string& what) {
  if (!holds)
    throw std::invalid_argument("score counts: " + what);
}

uint64_t in_steps(double x) {
  return static_cast<uint64_t>(std::nearbyint(x * steps));
}

} // namespace

double confidence_bin::accuracy() const {
  return static_cast<double>(correct_count) / static_cast<double>(row_count);
}

double confidence_bin::confidence() const {
  return static_cast<double>(confidence_sum) / steps / static_cast<double>(row_count);
}

score_counts::score_counts(size_t class_count)
  : class_count_(class_count), counts_(class_count * 2 * half) {
  require(class_count >= 2, "there are " + std::to_string(class_count) + " classes");
}

// The leading bits of a float count halvings, and steps within one. 1 - p is exact above 1/2.
size_t score_counts::bin_of(float p) {
  const auto below_half = [](float x) -> size_t {
    constexpr uint32_t fraction_bits = 23, step_bits = std::bit_width(steps_per_halving - 1);
    constexpr auto lowest =
      std::bit_cast<uint32_t>(0x1p-33f); // 2^-33 to 2^-32 is the first halving
    const auto bits = std::max(std::bit_cast<uint32_t>(x), lowest) - lowest;
    return std::min<size_t>(bits >> (fraction_bits - step_bits), half - 1);
  };
  return p < 0.5f ? below_half(p) : 2 * half - 1 - below_half(1 - p);
}

void score_counts::add(std::span<const float> probabilities, size_t label) {
  const default_rounding rounding;
  require(probabilities.size() == class_count_, std::to_string(probabilities.size()) +
                                                  " probabilities of " +
                                                  std::to_string(class_count_) + " classes");
  require(label < class_count_, "there is no class " + std::to_string(label));
  if (!std::ranges::all_of(probabilities, [](float p) { return p >= 0 && p <= 1; })) {
    ++refused_count_;
    return;
  }
  ++row_count_;
  double squares = 0;
  for (size_t c = 0; c < class_count_; ++c) {
    auto& count = counts_[c * 2 * half + bin_of(probabilities[c])];
    ++count.all;
    count.own += c == label ? 1 : 0;
    const double distance = double{probabilities[c]} - (c == label ? 1 : 0);
    squares += distance * distance;
  }
  square_sum_ += in_steps(squares / 2);
  const auto best = std::ranges::max_element(probabilities);
  const auto place = std::ceil(double{*best} * confidence_bin_count) - 1;
  auto& bin = bins_[static_cast<size_t>(std::clamp<double>(place, 0, confidence_bin_count - 1))];
  ++bin.row_count;
  bin.correct_count += static_cast<size_t>(best - probabilities.begin()) == label ? 1 : 0;
  bin.confidence_sum += in_steps(*best);
}

void score_counts::add(const score_counts& other) {
  require(other.class_count_ == class_count_, "they are of different classes");
  row_count_ += other.row_count_;
  refused_count_ += other.refused_count_;
  square_sum_ += other.square_sum_;
  for (size_t i = 0; i < counts_.size(); ++i) {
    counts_[i].own += other.counts_[i].own;
    counts_[i].all += other.counts_[i].all;
  }
  for (size_t i = 0; i < bins_.size(); ++i) {
    bins_[i].row_count += other.bins_[i].row_count;
    bins_[i].correct_count += other.bins_[i].correct_count;
    bins_[i].confidence_sum += other.bins_[i].confidence_sum;
  }
}

// Pairs are counted in doubles: whole numbers below 2^53 are exact, and beyond that the order of bins
// is always the same.
std::optional<auc_figure> score_counts::auc(size_t label) const {
  require(label < class_count_, "there is no class " + std::to_string(label));
  const auto counts = std::span{counts_}.subspan(label * 2 * half, 2 * half);
  uint64_t own = 0, others = 0;
  double right = 0, tied = 0;
  for (const auto& x : counts) {
    const auto rest = x.all - x.own;
    right += static_cast<double>(x.own) * static_cast<double>(others);
    tied += static_cast<double>(x.own) * static_cast<double>(rest);
    own += x.own;
    others += rest;
  }
  if (own == 0 || others == 0)
    return std::nullopt;
  const double pairs = static_cast<double>(own) * static_cast<double>(others);
  return auc_figure{(right + tied / 2) / pairs, tied / 2 / pairs};
}

std::optional<auc_figure> score_counts::macro_auc() const {
  if (class_count_ == 2) // the same figure, to rounding of 1 - p
    return auc(1);
  auc_figure sum;
  size_t count = 0;
  for (size_t c = 0; c < class_count_; ++c)
    if (const auto one = auc(c)) {
      sum.value += one->value;
      sum.error_max += one->error_max;
      ++count;
    }
  if (count == 0)
    return std::nullopt;
  return auc_figure{sum.value / static_cast<double>(count),
                    sum.error_max / static_cast<double>(count)};
}

std::optional<double> score_counts::calibration_error() const {
  if (row_count_ == 0)
    return std::nullopt;
  double result = 0;
  for (const auto& x : bins_)
    if (x.row_count > 0)
      result += static_cast<double>(x.row_count) * std::abs(x.accuracy() - x.confidence());
  return result / static_cast<double>(row_count_);
}

std::optional<double> score_counts::brier() const {
  if (row_count_ == 0)
    return std::nullopt;
  const double halved = static_cast<double>(square_sum_) / steps / static_cast<double>(row_count_);
  return class_count_ == 2 ? halved : 2 * halved;
}

} // namespace troupe
