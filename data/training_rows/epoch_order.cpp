#include "data/training_rows/epoch_order.hpp"

#include "data/text/failure.hpp"
#include "models/base/random.hpp"

#include <limits>

namespace troupe {

epoch_order::epoch_order(uint64_t seed, size_t row_count, bool shuffled)
  : seed_(seed), row_count_(row_count), shuffled_(shuffled) {
  if (row_count > std::numeric_limits<uint32_t>::max())
    throw failure(failure_code::bad_data, "more than 4294967295 rows", {},
                  "split the data over several jobs");
}

std::shared_ptr<const std::vector<uint32_t>> epoch_order::of(uint64_t epoch) const {
  if (!shuffled_)
    return nullptr;
  std::lock_guard guard{mutex_};
  for (const auto& [kept_epoch, rows] : kept_)
    if (kept_epoch == epoch)
      return rows;
  if (kept_.size() == 2)
    kept_.erase(kept_.begin());
  kept_.push_back(
    {epoch, std::make_shared<const std::vector<uint32_t>>(random_permutation(
              {seed_, random_purpose::shuffle, epoch}, static_cast<uint32_t>(row_count_)))});
  return kept_.back().rows;
}

} // namespace troupe
