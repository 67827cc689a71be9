// The record of a checkpoint: everything but its tensors, as bytes. Numbers take 8 bytes, lists and
// texts begin with their length, what may be absent with a byte 0 or 1; doubles keep their bits.

#pragma once

#include "data/checkpoint/checkpoint.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace troupe {

/// Which tensors a checkpoint has; they stand in its file in this order: parameters, slots, best
/// parameters.
struct checkpoint_shape {
  uint64_t parameter_count = 0; ///< P: elements of each tensor
  uint64_t slot_count = 0;      ///< S
  bool has_best_parameters = false;

  uint64_t tensor_count() const { return 1 + slot_count + (has_best_parameters ? 1 : 0); }
  friend bool operator==(const checkpoint_shape&, const checkpoint_shape&) = default;
};

/// Throws std::invalid_argument when the tensors of `x` are not all of one size.
checkpoint_shape shape_of(const checkpoint& x);

/// The tensors of `x` are not looked at: it may be without them.
std::vector<std::byte> checkpoint_record(const checkpoint& x, const checkpoint_shape& shape);

struct parsed_record {
  checkpoint head; ///< without tensors
  checkpoint_shape shape;
};

/// Reads a record; fewer than 64 zeros may follow it. `first_byte` is where it stands in the file
/// at `path`, for messages. Allocates no more than some times the bytes there are.
///
/// Throws failure(bad_data).
parsed_record parse_checkpoint_record(std::span<const std::byte> bytes, const std::string& path,
                                      uint64_t first_byte);

} // namespace troupe
