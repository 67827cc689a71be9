// Placement: which slices of a step each replica gets, and which blocks of the parameters each shard.
//
// Neither shows in the result. Ranges are contiguous and differ in size by at most one, so that a
// replica's slices form few tree nodes and a shard's blocks one span.

#pragma once

#include "coordinators/step/timeline.hpp"

#include <cstddef>
#include <vector>

namespace troupe {

/// Parameters of a block: 16 KiB, the unit in which they are cut, checked and repaired. The norm of a
/// gradient is added up by the same (models/training/regularization.hpp).
inline constexpr size_t block_size = 4096;

/// `part_count` contiguous parts of `count` things in order, the larger ones spread evenly:
/// part k is [floor(k count / parts), floor((k + 1) count / parts)).
std::vector<index_range> split_evenly(size_t count, size_t part_count);

/// The slices of each replica. Replicas beyond the slices get none: they are spares.
std::vector<index_range> assign_slices(size_t slice_count, size_t replica_count);

/// Likewise by speed, in slices a second: n_i slices for speed v_i, so that the slowest takes the least time,
/// max n_i / v_i. An even share, or one whose ranges begin at multiples of a power of two, is preferred when it takes a
/// thirtieth more at most: then replicas send fewer sums.
std::vector<index_range> assign_slices(size_t slice_count, const std::vector<double>& speeds);

/// The time of a step: max n_i / v_i.
double step_time(const std::vector<index_range>& slices, const std::vector<double>& speeds);

/// The chunks of an evaluation that a replica's group has, in rising ranges, given the slices of all replicas: as
/// large a part of them as its slices are of all. Where models are not split, and the slices of each replica are of one
/// holding, those of a holding share its chunks, and all share those that are no holding's.
std::vector<index_range> chunks_of_group(const std::vector<index_range>& slices, size_t own,
                                         const evaluation_rows& rows, const timeline& plan);

/// Blocks of `parameter_count` parameters.
size_t block_count(size_t parameter_count);

/// The blocks of each shard; with fewer blocks than shards some are empty.
std::vector<index_range> assign_blocks(size_t parameter_count, size_t shard_count);

/// The parameters of a range of blocks.
index_range elements_of_blocks(const index_range& blocks, size_t parameter_count);

/// Rows times parameters of a step below which one thread is faster than several: about 0.1 ms of
/// work, when waking another thread takes 0.04 to 0.09 ms. Doubled, a step that two threads would
/// share takes up to a tenth longer.
inline constexpr size_t shared_step_work_min = 1'000'000;

/// Values that a rule remembers, of all parameters, below which one replica's step is faster on one thread: others
/// could help it with the update alone, and each of them costs a message with the gradient and one with the version. Of
/// 784-512-512-10 with Adam (1.3 million) both took as long, of 784-2048-2048-10 (12 million) two threads a quarter
/// less at 8 rows. A rule that remembers nothing updates as fast as memory lets it, on one thread or two.
inline constexpr size_t shared_update_min = 4'000'000;

/// What there is to share in a step.
struct step_work {
  size_t batch_rows = 0;
  size_t parameter_count = 0;
  bool has_one_replica = false; ///< whose rule updates element by element
  size_t slot_count = 0;        ///< then: values that the rule remembers of each parameter
};

/// Threads worth having on a machine with `core_count` cores. Results do not depend on it.
size_t useful_threads(const step_work& x, size_t core_count);

} // namespace troupe
