// How pieces of vectors go between two processes: what a cluster file may ask for, and what is in use.

#pragma once

#include "models/base/names.hpp"

#include <array>
#include <cstdint>

namespace troupe {

enum class carrier_choice : uint8_t {
  automatic, ///< in memory where both have some in common, else by a socket
  messages,  ///< of the actor system, as everything else
  socket,    ///< a connection of their own
  memory,    ///< that both have in common; with others as messages
};

template <>
struct name_table<carrier_choice> {
  static constexpr std::array entries{
    named(carrier_choice::automatic, "auto"), named(carrier_choice::messages, "messages"),
    named(carrier_choice::socket, "socket"), named(carrier_choice::memory, "memory")};
};

} // namespace troupe
