// Parcel gathering: which elements have come of some vectors of one size that travel together.
//
// An order to a trainer and what comes of it are parcels: the parameters, or a gradient, and for a
// member that trains on its own its optimizer's state. They come over a wire in pieces, in any
// order, some twice, some never. What is missing is told as one range of elements through all
// vectors, one after the other: element e of vector k is number k * size + e.

#pragma once

#include "troupe/coordinators/base/span_set.hpp"

#include <cstddef>
#include <vector>

namespace troupe {

class parcel_gathering {
public:
  parcel_gathering() = default;
  parcel_gathering(size_t vector_count, size_t vector_size)
    : vector_count_(vector_count), vector_size_(vector_size) {}

  /// Elements of a vector have come. False when they told nothing new, or there are none such.
  bool offer(size_t vector, const index_range& elements);

  bool is_whole() const { return here_.contains({0, vector_count_ * vector_size_}); }

  /// What has not come, in order.
  std::vector<index_range> missing() const {
    return here_.missing_in({0, vector_count_ * vector_size_});
  }

  /// The part of such a range that lies in this vector, as elements of it; may be empty.
  static index_range part_in(const index_range& range, size_t vector, size_t vector_size);

  friend bool operator==(const parcel_gathering&, const parcel_gathering&) = default;

private:
  size_t vector_count_ = 0;
  size_t vector_size_ = 0;
  span_set here_;
};

} // namespace troupe
