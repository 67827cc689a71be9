// State collector: puts pieces of a version's parameters, or of the optimizer's state beside them,
// together to whole tensors. In one process all pieces of a version's parameters lie in one buffer
// already, each at its place: then that buffer is the result and nothing is copied.

#pragma once

#include "troupe/actors/protocol/cluster_messages.hpp"
#include "troupe/coordinators/base/span_set.hpp"

#include <memory>
#include <vector>

namespace troupe {

class state_collector {
public:
  /// For `version`: tensors of `element_count` elements, the parameters and `slot_count` slots.
  /// Buffers are those of `pool`, which are of that size; null: of a pool of its own.
  state_collector(uint64_t version, size_t element_count, size_t slot_count,
                  std::shared_ptr<buffer_pool> pool = nullptr);

  uint64_t version() const { return version_; }

  /// True when it told something new. A piece that is damaged, or of something else, is ignored.
  bool offer(const state_piece& news);

  bool is_whole() const;
  /// Elements that are missing in some tensor.
  std::vector<index_range> missing() const;

  size_t tensor_count() const { return parts_.size(); }
  /// A whole tensor: slot 0 are the parameters.
  const_buffer tensor(size_t slot) const;

private:
  struct part {
    span_set here;
    const_buffer shared; ///< holds every piece so far at its place; empty once one lies elsewhere
    buffer own;          ///< made when it is needed
  };
  void copy(part& to, const state_piece& news);

  uint64_t version_;
  size_t element_count_;
  std::shared_ptr<buffer_pool> pool_;
  std::vector<part> parts_; ///< by slot
};

} // namespace troupe
