// Addresses as a cluster file spells them (actors/net/socket/endpoint.hpp), and what can be said of
// one without asking a name server.

#pragma once

#include "troupe/actors/net/socket/endpoint.hpp"
#include "troupe/models/keys/key_table.hpp"

#include <optional>
#include <string_view>

namespace troupe {

/// Reads "host:port"; why not, or nothing and `out` written.
std::optional<value_refusal> read_address(std::string_view text, endpoint& out);

/// True when nobody outside this machine can reach it: 127.x.y.z, ::1 and "localhost". Other names
/// count as reachable: what they stand for may change.
bool is_loopback(const endpoint& x);

/// True for 0.0.0.0 and ::, which mean "every address of this machine" and cannot be dialled.
bool is_any_address(const endpoint& x);

} // namespace troupe
