// A visit: a process outside a run asks the run's director for the status. One line of JSON each
// way over a fresh connection, through the director's gate:
//
//   visitor                                             director's process
//      | {"troupe":1,"version":"...","visit":"status"}      |
//      |--------------------------------------------------->|
//      |        {"troupe":1,"answer":{"verdict":"admitted"},"status":{...}}
//      |<---------------------------------------------------|
//
// or an answer that refuses, with its reason and exit code. Then the connection ends. Nothing of a
// visitor reaches the actor system; it has no name, and holds a slot of the gate no longer than a
// hello may take.
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

/// A visitor's request.
struct visit_request {
  uint64_t protocol = protocol_number;
  std::string version; ///< of the program
  std::string what;    ///< "status" is all there is

  friend bool operator==(const visit_request&, const visit_request&) = default;
};

/// The line with its end.
std::string write_visit(const visit_request& x);

/// Reads a line; nothing when it is no visit. `text` is without its end.
std::optional<visit_request> read_visit(std::string_view text);

/// Admits a visitor of this program's version that asks for the status; else refuses it.
verdict admit_visit(const visit_request& x, const std::string& own_version);

/// The answers, lines with their end.
std::string visit_refusal(const verdict& why);
std::string visit_answer(const training_status& status);

/// The status as a JSON object, as `troupe status --json` prints it, without the job's name.
std::string status_json(const training_status& status);

} // namespace troupe
