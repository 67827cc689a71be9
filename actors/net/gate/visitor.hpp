// The visitor: asks the director of a run how training goes (visit.hpp has the lines), blocking,
// from a process that has no actors.

#pragma once

#include "actors/net/socket/endpoint.hpp"
#include "coordinators/base/moment.hpp"
#include "data/identity/certificate.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace troupe {

/// How long a visitor waits for each part: the addresses of the name, the connection, the answer.
/// A director answers within milliseconds while all its cores compute; doubled, one that stands
/// still is noticed twice as late.
inline constexpr milliseconds visit_deadline{5'000};

/// Bytes of an answer: thousands of nodes.
inline constexpr size_t visit_bytes_max = size_t{1} << 20;

/// How a visitor's connection is secured: its own files, of any name, and the name that whoever
/// answers must prove.
struct visit_security {
  tls_files files;
  std::string director;
};

/// The object of a status in the line that answered a visit; `where` is for people. Throws failure:
/// with the code of the refusal that it is instead, or mismatch when a director wrote no such line.
std::string read_visit_answer(std::string_view line, const std::string& where);

/// Asks the director at this address: the object as `status_json` (visit.hpp) wrote it. Blocks for
/// up to three deadlines. Without `security` the connection is plain.
///
/// Throws failure: missing_input when the host is unknown; unavailable when nobody answers there in
/// time; mismatch when what answers is no director, or one of another version; no_permission when
/// one of both does not believe the other, or only one of them secures the connection; as load_tls
/// when the files do not fit.
std::string ask_for_status(const endpoint& where, milliseconds deadline = visit_deadline,
                           const std::optional<visit_security>& security = {});

} // namespace troupe
