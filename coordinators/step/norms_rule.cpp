#include "troupe/coordinators/step/norms_rule.hpp"

#include "troupe/models/math/tree_accumulator.hpp"

#include <algorithm>
#include <bit>

namespace troupe {

norms_verdict norms_rule::offer(uint64_t step, size_t first_block,
                                std::span<const double> square_sums) {
  if (step != version_)
    return step < version_ ? norms_verdict::stale : norms_verdict::early;
  if (square_sums.empty() || first_block > sums_.size() ||
      square_sums.size() > sums_.size() - first_block)
    return norms_verdict::malformed;
  const auto places = std::span{sums_}.subspan(first_block, square_sums.size());
  const auto differs = [](const std::optional<double>& known, double sum) {
    return known && std::bit_cast<uint64_t>(*known) != std::bit_cast<uint64_t>(sum);
  };
  for (size_t i = 0; i < places.size(); ++i)
    if (differs(places[i], square_sums[i]))
      return norms_verdict::conflict;
  const auto before = known_count_;
  for (size_t i = 0; i < places.size(); ++i) {
    known_count_ += places[i] ? 0 : 1;
    places[i] = square_sums[i];
  }
  return known_count_ == before ? norms_verdict::duplicate : norms_verdict::accepted;
}

std::optional<double> norms_rule::square_sum() const {
  if (known_count_ < sums_.size())
    return std::nullopt;
  tree_accumulator<double> total;
  for (const auto& sum : sums_)
    total.push(*sum);
  return total.total();
}

void norms_rule::advance() {
  ++version_;
  known_count_ = 0;
  std::ranges::fill(sums_, std::nullopt);
}

} // namespace troupe
