// A visit: a process asks the director's process for the status of the run, or for the table of its rows, of which a node
// with rows of its own has to know before it can take part (data/training_rows/row_table.hpp). One line of JSON each way
// over a fresh connection, through the director's gate:
//
//   visitor                                             director's process
//      | {"troupe":1,"version":"...","visit":"status","check":"..."}
//      |--------------------------------------------------->|
//      |        {"troupe":1,"answer":{"verdict":"admitted"},"status":{...},"check":"..."}
//      |<---------------------------------------------------|
//
// or an answer that refuses, with its reason and exit code. Then the connection ends. Nothing of a
// visitor reaches the actor system, and it holds a slot of the gate no longer than a
// hello may take. Who asks for the status has no name; who asks for the table says which node it is, and proves it where
// connections are secured.
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
  std::string what;    ///< "status" or "table"
  std::string node{};  ///< table: who asks
  std::string card{};  ///< table: what it tells of its rows (row_card); empty: it has none

  friend bool operator==(const visit_request&, const visit_request&) = default;
};

/// Whether a line came as it was said: its last key is a checksum of what stands before it.
enum class line_state : uint8_t {
  whole,
  damaged, ///< on the way: its checksum is wrong, or missing
  foreign, ///< of another protocol, which may have no checksum
  strange, ///< of no process of troupe
};
line_state state_of(std::string_view line);

/// The line with its end.
std::string write_visit(const visit_request& x);

/// Reads a line; nothing when it is no visit, or was damaged. `text` is without its end.
std::optional<visit_request> read_visit(std::string_view text);

/// Bytes of a visit's line: a card of some thousand columns. Strangers can make a gate keep this for each connection.
inline constexpr size_t card_bytes_max = size_t{1} << 20;
/// The same of a peer that has proven its name, and of answers.
inline constexpr size_t proven_card_bytes_max = size_t{64} << 20;

/// Whether a line that has not ended is a visit with a card.
bool begins_with_card(std::string_view text);

/// Admits a visitor of this program's version that asks for what there is; else refuses it.
verdict admit_visit(const visit_request& x, const std::string& own_version);

/// The answers, lines with their end.
std::string visit_refusal(const verdict& why);
std::string visit_answer(const training_status& status);

/// What a node hears of the table: the form that all read their rows by, or the table, once they are agreed on.
struct table_answer {
  std::string waits_for{}; ///< whose cards have not come, for people
  bool is_alone = false;   ///< there is one holding: its holder says how its rows are scaled
  std::string form{};
  std::string table{};
  int problem_code = 0; ///< an exit code: there will be no table, for this reason
  std::string problem{};
  std::string problem_place{};
  std::string problem_hint{};

  friend bool operator==(const table_answer&, const table_answer&) = default;
};

std::string visit_answer(const table_answer& x);

/// Nothing for a line that is none.
std::optional<table_answer> read_table_answer(std::string_view text);

/// The status as a JSON object, as `troupe status --json` prints it, without the job's name.
std::string status_json(const training_status& status);

} // namespace troupe
