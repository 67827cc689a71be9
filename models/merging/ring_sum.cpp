#include "models/merging/ring_sum.hpp"

#include "models/base/multiversion.hpp"
#include "models/math/lanes.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <stdexcept>
#include <string>

namespace troupe {

namespace {

/// Its bits and those of its sum with a whole |q| < 2^51 differ by q: the spacing is 1 there.
constexpr double integer_shift = 0x1.8p52;
constexpr int sum_bits = 62;
constexpr int element_bits = 50;
/// Beyond it an update would be rounded to more than a millionth of the range.
constexpr int lost_bits_max = 20;

[[noreturn]] void refuse(const std::string& what) {
  throw std::invalid_argument("ring sum: " + what);
}

// The least n with 2^n >= x; x > 0.
int ceil_log2(double x) {
  int exponent = 0;
  return std::frexp(x, &exponent) == 0.5 ? exponent - 1 : exponent;
}

TROUPE_MULTIVERSION void add_rounded(int64_t* __restrict sum, const float* __restrict values,
                                     const float* __restrict start, double factor, size_t count) {
  constexpr auto shift = std::bit_cast<uint64_t>(integer_shift);
  for (size_t i = 0; i < count; ++i) {
    const double moved = static_cast<double>(values[i]) - static_cast<double>(start[i]);
    const auto rounded = std::bit_cast<uint64_t>(moved * factor + integer_shift) - shift;
    sum[i] = static_cast<int64_t>(static_cast<uint64_t>(sum[i]) + rounded);
  }
}

TROUPE_MULTIVERSION void add_integers(int64_t* __restrict sum, const int64_t* __restrict words,
                                      size_t count) {
  for (size_t i = 0; i < count; ++i)
    sum[i] = static_cast<int64_t>(static_cast<uint64_t>(sum[i]) + static_cast<uint64_t>(words[i]));
}

TROUPE_MULTIVERSION double sum_of_squares(const float* values, const float* start, size_t count) {
  return lane_sum<double>(count, [=](size_t i) {
    const double moved = static_cast<double>(values[i]) - static_cast<double>(start[i]);
    return moved * moved;
  });
}

TROUPE_MULTIVERSION double greatest_move(const float* values, const float* start, size_t count) {
  std::array<double, lane_count> lanes{};
  for (size_t i = 0; i < count; i += lane_count) {
    const auto here = std::min(lane_count, count - i);
    for (size_t l = 0; l < here; ++l) {
      const double moved =
        std::abs(static_cast<double>(values[i + l]) - static_cast<double>(start[i + l]));
      lanes[l] = moved > lanes[l] ? moved : lanes[l];
    }
  }
  return *std::ranges::max_element(lanes);
}

} // namespace

int fraction_bits_of(const ring_bounds& x) {
  if (!(x.range > 0) || !std::isfinite(x.range))
    refuse("the range must be above 0 and finite");
  if (x.weight_max == 0 || x.count_max == 0)
    refuse("the greatest weight and the greatest number of clients must be at least 1");
  const double update = static_cast<double>(x.weight_max) * x.range;
  const double sum = static_cast<double>(x.count_max) * update;
  const auto bits = std::min(sum_bits - ceil_log2(sum), element_bits - ceil_log2(update));
  if (bits + ceil_log2(x.range) < lost_bits_max)
    refuse("too many clients with too great weights: an update would be rounded to 2^" +
           std::to_string(-bits));
  return std::min(bits, x.fraction_bits_max);
}

update_size measure_update(std::span<const float> start, std::span<const float> values) {
  if (start.size() != values.size())
    refuse("an update of " + std::to_string(values.size()) + " values for " +
           std::to_string(start.size()));
  return {std::sqrt(sum_of_squares(values.data(), start.data(), values.size())),
          greatest_move(values.data(), start.data(), values.size())};
}

ring_sum::ring_sum(const ring_bounds& bounds, size_t size)
  : bounds_(bounds), fraction_bits_(fraction_bits_of(bounds)), words_(size) {}

void ring_sum::take_room(uint64_t weight, uint64_t count) {
  if (count > bounds_.count_max - count_)
    refuse("there is room for " + std::to_string(bounds_.count_max) + " clients");
  if (weight < count || weight > count * bounds_.weight_max)
    refuse("a weight of " + std::to_string(weight) + ", but it must be from 1 to " +
           std::to_string(bounds_.weight_max) + " for each client");
  weight_ += weight;
  count_ += count;
}

update_verdict ring_sum::add(std::span<const float> start, std::span<const float> values,
                             uint64_t weight, const update_size& size, double scale) {
  if (values.size() != words_.size() || start.size() != words_.size())
    refuse("an update of " + std::to_string(values.size()) + " values for " +
           std::to_string(words_.size()));
  if (!std::isfinite(size.norm))
    return update_verdict::not_finite;
  if (size.largest * scale > bounds_.range)
    return update_verdict::out_of_range;
  take_room(weight, 1);
  add_rounded(words_.data(), values.data(), start.data(),
              std::ldexp(scale * static_cast<double>(weight), fraction_bits_), words_.size());
  return update_verdict::counted;
}

void ring_sum::add(const ring_sum& part) {
  if (part.bounds_ != bounds_)
    refuse("a part has other bounds");
  add(part.words_, part.weight_, part.count_);
}

void ring_sum::add(std::span<const int64_t> words, uint64_t weight, uint64_t count) {
  if (words.size() != words_.size())
    refuse("a part of " + std::to_string(words.size()) + " words for " +
           std::to_string(words_.size()));
  take_room(weight, count);
  add_integers(words_.data(), words.data(), words.size());
}

void ring_sum::clear() {
  std::ranges::fill(words_, 0);
  weight_ = count_ = 0;
}

std::vector<float> ring_sum::mean_onto(std::span<const float> start) const {
  if (start.size() != words_.size())
    refuse("a start of " + std::to_string(start.size()) + " values for " +
           std::to_string(words_.size()));
  if (count_ == 0)
    refuse("nobody has a mean");
  return moved_by(start, words_, fraction_bits_, static_cast<double>(weight_));
}

std::vector<float> moved_by(std::span<const float> start, std::span<const int64_t> words,
                            int fraction_bits, double denominator) {
  std::vector<float> result(start.size());
  for (size_t i = 0; i < start.size(); ++i) {
    const double sum = std::ldexp(static_cast<double>(words[i]), -fraction_bits);
    result[i] = static_cast<float>(static_cast<double>(start[i]) + sum / denominator);
  }
  return result;
}

void split_words(std::span<const int64_t> words, std::span<float> low, std::span<float> high) {
  if (low.size() != words.size() || high.size() != words.size())
    refuse("halves of another size");
  for (size_t i = 0; i < words.size(); ++i) {
    const auto bits = static_cast<uint64_t>(words[i]);
    const std::array<uint32_t, 2> halves{static_cast<uint32_t>(bits),
                                         static_cast<uint32_t>(bits >> 32)};
    std::memcpy(&low[i], &halves[0], sizeof halves[0]);
    std::memcpy(&high[i], &halves[1], sizeof halves[1]);
  }
}

void join_words(std::span<const float> low, std::span<const float> high, std::span<int64_t> words) {
  if (low.size() != words.size() || high.size() != words.size())
    refuse("halves of another size");
  for (size_t i = 0; i < words.size(); ++i) {
    std::array<uint32_t, 2> halves{};
    std::memcpy(&halves[0], &low[i], sizeof halves[0]);
    std::memcpy(&halves[1], &high[i], sizeof halves[1]);
    words[i] = static_cast<int64_t>(uint64_t{halves[1]} << 32 | halves[0]);
  }
}

} // namespace troupe
