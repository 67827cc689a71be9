// What the tensor exchanges of two processes say to each other, on a wire: the plain structs of
// coordinators/exchange/exchange_messages.hpp and who says them. All may be lost, late, or come
// twice; what a piece holds follows from its name, so it is good whoever sends it.

#pragma once

#include "actors/protocol/messages.hpp"
#include "coordinators/exchange/exchange_messages.hpp"

#include <string>

namespace troupe {

/// Who of a company speaks: a process, or the director, who may be beside one of them.
struct speaker {
  std::string process; ///< none of the director
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

/// Elements of a tensor, to who expects or wants them.
struct sent_piece : said<tensor_piece> {};
/// Somebody misses elements that the other end should have, or has all that it wanted. Answered by
/// pieces, or by nothing.
struct sent_want : said<tensor_want> {};
/// Against the pieces' direction, once a sixteenth of the window has come, or 64 pieces; each want has its own.
struct sent_credit : said<link_position> {};
/// So much was sent: what has come? Answered with credit.
struct sent_stamp : said<link_position> {};

TROUPE_INSPECTED(speaker);
TROUPE_INSPECTED(link_position);
TROUPE_INSPECTED(tensor_note);
TROUPE_INSPECTED(traffic);
TROUPE_INSPECTED(tensor_name);
TROUPE_INSPECTED(sent_piece);
TROUPE_INSPECTED(sent_want);
TROUPE_INSPECTED(sent_credit);
TROUPE_INSPECTED(sent_stamp);

} // namespace troupe
