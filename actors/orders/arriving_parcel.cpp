#include "troupe/actors/orders/arriving_parcel.hpp"

#include <algorithm>

namespace troupe {

arriving_parcel::arriving_parcel(buffer_pool& pool, size_t vector_count) {
  for (size_t i = 0; i < vector_count; ++i)
    vectors_.push_back(pool.acquire());
  gathering_ = {vector_count, vectors_.empty() ? 0 : vectors_.front().size()};
}

bool arriving_parcel::offer(const parcel_piece& news) {
  const auto values = news.values.values();
  const auto size = vectors_.empty() ? 0 : vectors_.front().size();
  if (news.first_element >= size || values.size() > size - news.first_element ||
      !news.values.intact() ||
      !gathering_.offer(news.vector, {news.first_element, news.first_element + values.size()}))
    return false;
  std::ranges::copy(values, vectors_[news.vector].values().begin() +
                              static_cast<std::ptrdiff_t>(news.first_element));
  return true;
}

} // namespace troupe
