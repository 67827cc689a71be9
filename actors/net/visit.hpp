// A visit: somebody who is no part of a run asks its director how training goes, and leaves. One
// line of JSON each way over a fresh connection, through the same gate as everybody:
//
//   visitor                                             director's process
//      | {"troupe":1,"version":"...","visit":"status"}      |
//      |--------------------------------------------------->|
//      |        {"troupe":1,"answer":{"verdict":"admitted"},"status":{...}}
//      |<---------------------------------------------------|
//
// or an answer that refuses, with its reason and exit code. The connection then ends: nothing of a
// visitor reaches the actor system, it has no name, and no slot of the gate for longer than a hello
// may take.

#pragma once

#include "troupe/actors/net/endpoint.hpp"
#include "troupe/coordinators/admission.hpp"
#include "troupe/coordinators/moment.hpp"
#include "troupe/data/tls_files.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace troupe {

struct training_status; // actors/protocol/status_messages.hpp

/// What a visitor says.
struct visit_request {
  uint64_t protocol = protocol_number;
  std::string version; ///< of the program
  std::string what;    ///< "status" is all there is

  friend bool operator==(const visit_request&, const visit_request&) = default;
};

/// The line with its end.
std::string write_visit(const visit_request& x);

/// Nothing when it is no such line. `text` is without its end.
std::optional<visit_request> read_visit(std::string_view text);

/// Whether a visitor is answered by a process of this program's version.
verdict admit_visit(const visit_request& x, const std::string& own_version);

/// The answers, lines with their end.
std::string visit_refusal(const verdict& why);
std::string visit_answer(const training_status& status);

/// The object of a status, as `troupe status --json` prints it but for the job's name.
std::string status_json(const training_status& status);

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

/// Asks the director at this address: the object as `status_json` wrote it. Blocks for up to three
/// deadlines. Without `security` the connection is plain.
///
/// Throws failure: missing_input when the host is unknown; unavailable when nobody answers there in
/// time; mismatch when what answers is no director, or one of another version; no_permission when
/// one of both does not believe the other, or only one of them secures the connection; as load_tls
/// when the files do not fit.
std::string ask_for_status(const endpoint& where, milliseconds deadline = visit_deadline,
                           const std::optional<visit_security>& security = {});

} // namespace troupe
