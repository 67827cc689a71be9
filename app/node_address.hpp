// Where a node of a cluster can be reached: "host:port" as a cluster file spells it.

#pragma once

#include "troupe/app/schema_key.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace troupe {

struct node_address {
  std::string host;  ///< a name or a number, IPv6 without its brackets
  uint16_t port = 0; ///< 0: any that is free

  friend bool operator==(const node_address&, const node_address&) = default;
};

/// Reads "host:port" or "[IPv6]:port"; why not, or nothing and `out` written.
std::optional<value_refusal> read_address(std::string_view text, node_address& out);

/// The text that reads as `x`.
std::string address_text(const node_address& x);

/// True when nobody outside this machine can reach it: 127.x.y.z, ::1 and "localhost". Other names
/// count as reachable: what they stand for may change.
bool is_loopback(const node_address& x);

/// True for 0.0.0.0 and ::, which mean "every address of this machine" and cannot be dialled.
bool is_any_address(const node_address& x);

} // namespace troupe
