// Synchronous work segments: parameters that local replicas fetch from the shards of other processes, segment by
// segment (coordinators/parallel/segment_fetching.hpp).
//
//   replica --needed--> asked for of their owners --arrived--> replica --needed no more--> let go
//
// It is of the version that is whole here: each of its owners has announced it, and keeps it until this
// process has the next one. What local shards own is copied beside the rest, so that a segment is one
// buffer. Replicas that need a segment at the same time share it.

#pragma once

#include "actors/node/node_context.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

namespace troupe {

class synchronous_segments {
public:
  explicit synchronous_segments(node_context& context) : context_(context) {}

  /// Another view, or no version is whole here: nobody fetches anything.
  void stop();
  /// This version is whole here, and local replicas have been told.
  void begin(uint64_t version);

  void on_request(const segment_request& news);
  void on_arrived(const tensor_arrived& news);

private:
  struct fetched {
    std::shared_ptr<const element_window> window;
    std::set<size_t> takers; ///< places in the view
    float_view values;       ///< once they are here
  };

  index_range around(const fetched& x) const;
  void fetch(const fetched& x);
  void dismiss(const fetched& x);
  void hand_over(size_t segment, const fetched& x, size_t taker) const;

  node_context& context_;
  std::optional<uint64_t> version_;
  std::map<size_t, fetched> fetched_; ///< by segment
  std::shared_ptr<buffer_pool> pool_; ///< of the largest segment's size
};

} // namespace troupe
