// The messages that may cross a wire, one list for all the simulation does with them: carry them
// as bytes, damage them, tell them in words, see how far training is.
//
// Carrying is real: a message is written and read again by the code a network uses, so nothing is
// shared between machines and a payload knows the checksum it was sent with.

#pragma once

#include "actors/protocol/cluster_messages.hpp"
#include "actors/protocol/task_messages.hpp"
#include "actors/protocol/tensor_messages.hpp"
#include "tests/simulation/dice.hpp"

#include <caf/actor_system.hpp>
#include <caf/message.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace troupe::simulation {

/// A copy that came over a wire. Throws std::logic_error for a message that may not cross one.
caf::message carried(caf::actor_system& system, const caf::message& content);

/// The same with one bit flipped on the way. Nothing when it is beside the values: then the record that carries it is not
/// read (actors/net/socket/checked_session.hpp).
std::optional<caf::message> damaged(caf::actor_system& system, const caf::message& content,
                                    dice& random);

/// Whether it goes by a carrier of pieces where there is one (actors/net/carriers).
bool is_carried(const caf::message& content);

/// Bytes of values; 0 of what is no piece.
size_t piece_bytes(const caf::message& content);

/// Bytes on a wire: of a piece as carriers frame it.
size_t wire_bytes(caf::actor_system& system, const caf::message& content);

/// A line for people: "gradient piece of step 3, slices 0 to 1, elements 0 to 4095".
std::string in_words(const caf::message& content);

/// The version of parameters that a message shows to exist.
std::optional<uint64_t> version_shown(const caf::message& content);

} // namespace troupe::simulation
