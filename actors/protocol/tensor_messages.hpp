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

auto inspect(auto& f, speaker& x) {
  return f(x.process, x.is_director);
}

auto inspect(auto& f, link_position& x) {
  return f(x.link, x.bytes);
}

auto inspect(auto& f, tensor_note& x) {
  return f(x.facts, x.remarks);
}

auto inspect(auto& f, traffic& x) {
  return f(x.bytes_sent, x.bytes_early, x.resends);
}

auto inspect(auto& f, tensor_name& x) {
  return inspect_fields(f, x.kind, x.term, x.key, x.node, x.part);
}

auto inspect(auto& f, sent_piece& x) {
  auto& piece = x.what;
  payload values{piece.values};
  return plain(f, "troupe.sent_piece", x.by, piece.of, piece.first_element, piece.note, piece.stamp,
               values, when_loaded([&] { piece.values = values; }));
}

auto inspect(auto& f, sent_want& x) {
  return plain(f, "troupe.sent_want", x.by, x.what.of, x.what.elements, x.what.or_newer,
               x.what.have_come, x.what.seen);
}

auto inspect(auto& f, sent_credit& x) {
  return plain(f, "troupe.sent_credit", x.by, x.what);
}

auto inspect(auto& f, sent_stamp& x) {
  return plain(f, "troupe.sent_stamp", x.by, x.what);
}

} // namespace troupe
