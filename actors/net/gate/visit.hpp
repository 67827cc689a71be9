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
//
// The lines are made and read here; visitor.hpp is the visitor's own side.

#pragma once

#include "coordinators/links/admission.hpp"

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

} // namespace troupe
