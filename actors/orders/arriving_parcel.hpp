// Arriving parcel: the vectors of an order or of a result while they are put together from pieces.
// A plain object: the desks of a node own them.

#pragma once

#include "troupe/actors/protocol/order_messages.hpp"
#include "troupe/coordinators/exchange/parcel_gathering.hpp"

#include <vector>

namespace troupe {

class arriving_parcel {
public:
  /// Into buffers of the model's size.
  arriving_parcel(buffer_pool& pool, size_t vector_count);

  /// True when the piece told something new. Damaged ones and those that fit nowhere do not.
  bool offer(const parcel_piece& news);

  bool is_whole() const { return gathering_.is_whole(); }
  /// As a `want` says it (coordinators/exchange/parcel_gathering.hpp).
  std::vector<index_range> missing() const { return gathering_.missing(); }

  const std::vector<buffer>& vectors() const { return vectors_; }

private:
  parcel_gathering gathering_;
  std::vector<buffer> vectors_;
};

} // namespace troupe
