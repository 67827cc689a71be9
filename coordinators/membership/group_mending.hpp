// Group mending: which replica carries what in the rest of a term, after replicas of a split model
// were lost or have joined.
//
//   what has lost its carrier        goes to
//   a partition                        a spare, the first one, of groups that lack least first
//   a group that spares do not fill  none: the group is dissolved, the one that lacks most first. Its
//                                    living replicas are spares, and preferred for what they carried
//   slices of a dissolved group      all groups: slices are split anew, evenly
//
// Partitions stay where they are as far as that allows: a replica that carries one has its parameters.
// Spares that make up whole groups become groups where a group has two slices more than these would have:
// no more groups than were wanted, and only with all slices split anew. No replica carries two partitions:
// memory is as planned. So a step goes on as long as there are as many replicas as a group has.

#pragma once

#include "coordinators/membership/cluster_view.hpp"
#include "coordinators/parallel/grid.hpp"

#include <cstddef>
#include <vector>

namespace troupe {

/// `replicas`: all that are there; those of the view before have their partition. `orphans`: the slices
/// of those that are gone. Afterwards every group is complete, and all slices are some group's, unless
/// there are fewer replicas than a group has: then none has any.
void mend_groups(std::vector<replica_place>& replicas, const std::vector<index_range>& orphans,
                 size_t slice_count, const model_split& split);

} // namespace troupe
