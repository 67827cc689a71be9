// The messages between the tensor exchanges of two processes: the structs of
// coordinators/exchange/exchange_messages.hpp, each with its sender. They may be lost, come late, or come twice. What a
// piece holds follows from its name, so any process may send it.

#pragma once

#include "actors/protocol/messages.hpp"
#include "coordinators/exchange/exchange_messages.hpp"

#include <string>

namespace troupe {

/// The sender of a message: a process, or the director, which may run beside one.
struct speaker {
  std::string process; ///< empty for the director
  bool is_director = false;

  friend bool operator==(const speaker&, const speaker&) = default;
};

inline speaker speaking_director() {
  return {{}, true};
}

template <class T>
struct said {
  speaker by;
  T what;

  friend bool operator==(const said&, const said&) = default;
};

/// Elements of a tensor, to a process that expects or wants them.
struct sent_piece : said<tensor_piece> {};
/// The sender misses elements that the receiver should have, or now has all that it wanted. Answered by pieces, or by
/// nothing.
struct sent_want : said<tensor_want> {};
/// The receiver of pieces sends credit after a sixteenth of the window, or 64 pieces. A want carries credit, too.
struct sent_credit : said<link_position> {};
/// The sender states how much it has sent and asks how much has come. Answered with credit.
struct sent_stamp : said<link_position> {};

TROUPE_INSPECTED(speaker);
TROUPE_INSPECTED(link_position);
TROUPE_INSPECTED(tensor_note);
TROUPE_INSPECTED(tensor_name);
TROUPE_INSPECTED(sent_piece);
TROUPE_INSPECTED(sent_want);
TROUPE_INSPECTED(sent_credit);
TROUPE_INSPECTED(sent_stamp);

} // namespace troupe
