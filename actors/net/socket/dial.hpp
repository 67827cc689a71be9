// Dialling a peer and waiting for it: a connection, plain or secured, or a failure that says in words what is wrong, and
// what to do. It blocks, up to a deadline for each part: the addresses of the name, the connection, the handshake.

#pragma once

#include "actors/net/socket/channel.hpp"
#include "actors/net/socket/endpoint.hpp"
#include "coordinators/base/moment.hpp"
#include "data/identity/certificate.hpp"

#include <optional>
#include <string>

namespace troupe {

/// How to secure a connection: the own files, of any name, and the name that the peer must prove.
struct dial_security {
  tls_files files;
  std::string peer;
};

/// Whom one dials, in words for people.
struct dialled_peer {
  std::string who;            ///< "the director"
  std::string address_hint;   ///< what to do if its host is unknown
  std::string silence_hint;   ///< if it does not answer
  std::string identity_place; ///< where certificates are named: "[tls] of the cluster file"
  std::string identity_whole; ///< whose they are: "the cluster"

  [[noreturn]] void throw_silent(const endpoint& where, const std::string& why) const;
  [[noreturn]] void throw_not_permitted(const endpoint& where, const std::string& why) const;
  /// The connection cannot be secured, for good or for now.
  [[noreturn]] void throw_unsecured(const endpoint& where, const transfer& why) const;
};

/// Throws failure: missing_input when the host is unknown; unavailable when there is no answer in time; no_permission when
/// one side does not believe the other, or only one of them secures the connection; as load_tls when the files do not fit.
channel dial(const endpoint& where, const dialled_peer& peer, milliseconds deadline,
             const std::optional<dial_security>& security);

/// True when the line is ready for `events` (of poll) in time.
bool wait_for_line(const channel& line, short events, moment due);

} // namespace troupe
