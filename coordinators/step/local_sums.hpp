// Local sums: what a process sends of the gradients that its replicas compute.
//
// A process that owns all slices below a node of the canonical tree may add them and send that one
// sum (canonical_tree.hpp). So it waits until all its replicas have done their parts of such a
// node, has one of them add, and sends the largest nodes there are: as a rule a single gradient a
// step, however many replicas and slices it has. The step takes no longer: it needs all slices.
//
//   part ---> held ---every slice of its largest node is here---> to be added ---> sent
//                       |                                                          ^
//                       +-- one part is the whole node, or the slice has moved ----+
//
// Slices may move with a view in the middle of a step. What has been sent is as good as before;
// what is held goes with the largest nodes of the slices that are this process's now, and parts of
// slices that are not go as they are.

#pragma once

#include "coordinators/base/span_set.hpp"
#include "coordinators/step/timeline.hpp"

#include <cstdint>
#include <map>
#include <vector>

namespace troupe {

class local_sums {
public:
  local_sums() = default;
  explicit local_sums(const timeline& plan) : plan_(plan) {}

  /// A sum that is complete: `plan` adds `parts`, in order, to that of `node`. A single part is
  /// `node` itself, and can be sent.
  struct sum {
    tree_node node;
    std::vector<tree_node> parts;
    reduction_plan plan;

    friend bool operator==(const sum&, const sum&) = default;
  };

  /// The process's slices now, replica by replica; sums of the steps under way that this completes.
  std::map<uint64_t, std::vector<sum>> set_slices(const std::vector<index_range>& slices);

  /// A part is here: of a replica's slices, or a sum that was to be added. What comes a second time
  /// completes nothing.
  std::vector<sum> on_part(uint64_t step, const tree_node& part);

  /// True when this part would be sent as it is, if it came now: nothing here is to be added to it.
  bool goes_alone(uint64_t step, const tree_node& part) const;

  /// Steps before this version are over.
  void drop_before(uint64_t version);

  friend bool operator==(const local_sums&, const local_sums&) = default;

private:
  struct work {
    std::vector<tree_node> held;  ///< sorted, disjoint
    span_set taken;               ///< slices that were sent or are being added
    std::vector<tree_node> added; ///< nodes whose sum is yet to come
    friend bool operator==(const work&, const work&) = default;
  };

  static sum take_alone(work& here, const tree_node& part);
  std::vector<sum> complete(uint64_t step, work& here) const;
  /// The sum of `node` from what is held below it; no parts while some are missing.
  sum sum_of(uint64_t step, const tree_node& node, const std::vector<tree_node>& held) const;

  timeline plan_;
  span_set slices_;
  std::map<uint64_t, work> steps_;
};

} // namespace troupe
