#include "coordinators/step/sums_rule.hpp"

#include "models/base/copy_values.hpp"
#include "models/math/tree_accumulator.hpp"

#include <cstring>

namespace troupe {

sums_verdict sums_rule::offer(uint64_t step, size_t first_block, std::span<const double> numbers) {
  if (step != version_)
    return step < version_ ? sums_verdict::stale : sums_verdict::early;
  const auto count = numbers.size() / of_block_;
  if (numbers.empty() || numbers.size() % of_block_ != 0 || first_block > is_known_.size() ||
      count > is_known_.size() - first_block)
    return sums_verdict::malformed;
  const auto place = [&](size_t i) {
    return std::span{numbers_}.subspan((first_block + i) * of_block_, of_block_);
  };
  const auto news = [&](size_t i) { return numbers.subspan(i * of_block_, of_block_); };
  for (size_t i = 0; i < count; ++i) // by bits: NaN is a number, too
    if (is_known_[first_block + i] &&
        std::memcmp(place(i).data(), news(i).data(), of_block_ * sizeof(double)) != 0)
      return sums_verdict::conflict;
  const auto before = known_count_;
  for (size_t i = 0; i < count; ++i) {
    known_count_ += is_known_[first_block + i] ? 0 : 1;
    is_known_[first_block + i] = true;
    copy_values(news(i), place(i).begin());
  }
  return known_count_ == before ? sums_verdict::duplicate : sums_verdict::accepted;
}

std::optional<std::vector<double>> sums_rule::totals() const {
  return known_count_ < is_known_.size() ? std::nullopt
                                         : std::optional{totals_of_blocks(numbers_, of_block_)};
}

void sums_rule::advance() {
  ++version_;
  known_count_ = 0;
  is_known_.assign(is_known_.size(), false);
}

} // namespace troupe
