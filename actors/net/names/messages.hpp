// The messages of networked names (networked_names.hpp): between the directories of two processes, and between a
// directory and its own process.

#pragma once

#include "actors/protocol/interfaces.hpp"

#include <caf/actor.hpp>
#include <caf/actor_control_block.hpp>
#include <caf/allowed_unsafe_message_type.hpp>

#include <cstddef>
#include <map>
#include <string>

namespace troupe {

/// Maximum bytes of a name.
inline constexpr size_t actor_name_bytes_max = 64;

/// Maximum names of a process. Doubled, an introduction (each change sends one to each process) is twice as long.
inline constexpr size_t actor_names_max = 1'000;

/// One process's directory -> another's: the sender's process, and all actors that it publishes. A later introduction
/// replaces an earlier one. Idempotent.
struct name_introduction {
  std::string process;                                 ///< its name in the plan
  name_directory_actor directory;                      ///< the sender
  std::map<std::string, caf::strong_actor_ptr> actors; ///< of this process, by name
  bool wants_answer = false;

  friend bool operator==(const name_introduction&, const name_introduction&) = default;
};

TROUPE_INSPECTED(name_introduction);

/// The own process -> its directory: a name and the actor to publish, or a name and the actor that follows it. Never
/// crosses a wire: no other process can publish anything here.
struct named_actor {
  std::string name;
  caf::actor which;
};

} // namespace troupe

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::named_actor)
