// Between a director and the writer of its files, within a process: what is to be written, and what
// came of it. Nothing of it crosses a wire.

#pragma once

#include "troupe/actors/protocol/interfaces.hpp"
#include "troupe/data/checkpoint/checkpoint.hpp"
#include "troupe/data/text/failure.hpp"

#include <caf/allowed_unsafe_message_type.hpp>

#include <cstdint>
#include <memory>
#include <optional>

namespace troupe {

/// director -> writer.
struct checkpoint_order {
  std::shared_ptr<const checkpoint> what;
};

/// director -> writer.
struct term_order {
  uint64_t term = 0;
};

/// writer -> director: it is on the disk, or this is why it is not.
struct write_outcome {
  std::optional<failure> problem;
};

} // namespace troupe

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::checkpoint_order)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::term_order)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::write_outcome)
