// The messages between a director and the writer of its files: what to write or read, and the outcome. And the trained
// model, which the director gives its caller. All of them stay in their process.

#pragma once

#include "actors/protocol/interfaces.hpp"
#include "data/checkpoint/checkpoint_store.hpp"
#include "data/disk/stored_tensor.hpp"
#include "data/text/failure.hpp"
#include "models/base/buffer.hpp"
#include "models/base/index_range.hpp"

#include <caf/allowed_unsafe_message_type.hpp>

#include <cstdint>
#include <memory>
#include <optional>

namespace troupe {

/// director -> writer: elements of a checkpoint in the making.
struct range_order {
  checkpoint_range where;
  std::shared_ptr<scratch_tensor> scratch; ///< there instead, from `where.first_element` on
  float_view values;
};

/// director -> writer: completes a checkpoint; its elements were ordered before.
struct checkpoint_order {
  std::shared_ptr<const checkpoint> what;
};

/// director -> writer: drop the checkpoints in the making from this version on.
struct drop_order {
  uint64_t from_version = 0;
};

/// director -> writer.
struct term_order {
  uint64_t term = 0;
};

/// director -> writer: read these elements.
struct read_order {
  stored_tensor from;
  index_range elements;
};

/// writer -> director: the order is carried out, and lasting files are on the disk; or why it failed.
struct write_outcome {
  std::optional<failure> problem;
  std::shared_ptr<const checkpoint> saved; ///< of a checkpoint: the same, as it lies in its file
  float_view values;                       ///< of the read elements
};

/// director -> the caller that pulls it.
struct trained_model {
  uint64_t version = 0;
  stored_tensor parameters; ///< in working order
};

/// Writes a director's files, one after the other in the order they come, so that the director never
/// waits for a disk (actors/director/checkpoint_writer.hpp). It answers each order when it is done, or has failed.
using checkpoint_writer_actor =
  caf::typed_actor<caf::replies_to<range_order>::with<write_outcome>,
                   caf::replies_to<checkpoint_order>::with<write_outcome>,
                   caf::replies_to<drop_order>::with<write_outcome>,
                   // A term, before its first use.
                   caf::replies_to<term_order>::with<write_outcome>,
                   caf::replies_to<read_order>::with<write_outcome>>;

} // namespace troupe

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::range_order)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::checkpoint_order)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::drop_order)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::term_order)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::read_order)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::write_outcome)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::trained_model)
