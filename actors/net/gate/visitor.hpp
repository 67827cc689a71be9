// The visitor: asks the director of a run for the status (visit.hpp has the lines). It blocks, and
// needs no actors.

#pragma once

#include "actors/net/gate/visit.hpp"
#include "actors/net/socket/dial.hpp"
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

/// The director proves its name.
using visit_security = dial_security;

/// The status object in the line that answered a visit; `where` is for people. Throws failure: with
/// the code of a refusal, or mismatch when the line is no director's.
std::string read_visit_answer(std::string_view line, const std::string& where);

/// Asks the director at this address and returns the object that `status_json` (visit.hpp) wrote.
/// Blocks for up to three deadlines. Without `security` the connection is plain.
///
/// Throws failure: missing_input when the host is unknown; unavailable when there is no answer in
/// time; mismatch when the answer is not from a director, or from one of another version;
/// no_permission when one side does not believe the other, or only one of them secures the
/// connection; as load_tls when the files do not fit.
std::string ask_for_status(const endpoint& where, milliseconds deadline = visit_deadline,
                           const std::optional<visit_security>& security = {});

/// Asks it for the table of rows, as this node, which tells of its own rows by `card`. Blocks and throws likewise; a
/// problem that the director has with the rows is thrown as it says.
table_answer ask_for_table(const endpoint& where, const std::string& node, const std::string& card,
                           milliseconds deadline, const std::optional<visit_security>& security);

} // namespace troupe
