// Link credit: how much may be under way to another process, and what waits until it may go.
//
// What is sent lies in the memory of both ends until it is read, and a wire takes what it is given:
// a receiver that is slow or stands still would let its sender's memory grow without bound, and a
// burst of hundreds of megabytes keeps a healthy link too busy for its signs of life. So a sender
// has 16 MiB of credit on a link. Pieces beyond wait here *by name*: their values are looked up
// when their turn comes, in what is kept for whoever asks. So waiting takes no memory, and what
// nobody can ask for any more is not sent either.
//
//   add ---> waits ---next: there is credit---> under way ---on_credit---> forgotten
//              |                                    |
//              +-- drop_if, forget: out of date     +-- forget
//
// Nothing is counted that could be lost. A piece carries its *position*: the bytes given to this
// link up to its end. The receiver says the highest position it has seen, and because a link keeps
// its order, everything before that has come or is lost. So a credit that is lost is made good by
// the next one, one that comes twice says nothing new, and lost pieces leak no credit. Should the
// last pieces or the last credit be lost, the sender asks after a while, with the position alone;
// the answer is the ordinary credit. A new link is a new number and starts from 0; credit of
// another link says nothing.
//
// Invariants: at most `window_bytes` are under way, or a single piece; an element of a piece
// neither waits twice nor waits while it is under way, however often it is wanted.

#pragma once

#include "troupe/coordinators/base/span_set.hpp"
#include "troupe/coordinators/exchange/link_limits.hpp"
#include "troupe/coordinators/exchange/repair_clock.hpp"

#include <compare>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace troupe {

/// What a piece is a part of.
enum class piece_kind : uint8_t { gradient, state, order, result };

/// The name of something that is sent in pieces.
struct piece_name {
  piece_kind kind = piece_kind::state;
  uint64_t version = 0; ///< of a gradient its step, of an order and its result the order's number
  tree_node node;       ///< of a gradient
  uint64_t slot = 0;    ///< of a state: 0 are the parameters; of an order, a result: the vector
  uint64_t origin = 0;  ///< first element of the shard's span; a piece lies within one span

  friend auto operator<=>(const piece_name&, const piece_name&) = default;
};

/// Sender -> receiver, with each piece; alone it is the question what has come.
struct link_stamp {
  std::string from;      ///< the sender's process; empty: the director
  uint64_t link = 0;     ///< the link's number, as the sender counts; 0: it needs no credit
  uint64_t position = 0; ///< bytes given to this link, this piece included

  friend bool operator==(const link_stamp&, const link_stamp&) = default;
};

/// Receiver -> sender: everything up to `position` has come, or is lost.
struct credit {
  std::string from;      ///< the receiver's process; empty: the director
  uint64_t link = 0;     ///< as stamped
  uint64_t position = 0; ///< bytes

  friend bool operator==(const credit&, const credit&) = default;
};

/// The sender's end of a link.
class link_credit {
public:
  link_credit() = default;
  /// `link`: its number, another one than those before it.
  link_credit(uint64_t link, size_t window_bytes, size_t piece_elements)
    : link_(link), window_bytes_(window_bytes), piece_elements_(piece_elements) {}

  /// Elements of `name` are to be sent. Returns how many were not waiting or under way already.
  size_t add(const piece_name& name, const index_range& elements, urgency haste);

  struct granted {
    piece_name name;
    index_range elements;
    uint64_t position = 0; ///< for its stamp

    friend bool operator==(const granted&, const granted&) = default;
  };
  /// The next piece that may be sent; it counts as sent.
  std::optional<granted> next(moment now);

  /// The receiver has seen this much.
  void on_credit(uint64_t link, uint64_t position, moment now);

  /// The position to ask for, when it is time to: credit has been missing for long, or something is
  /// wanted that seemed to be under way.
  std::optional<uint64_t> question(moment now);

  /// Nobody can want these any more.
  void drop_if(const std::function<bool(const piece_name&)>& is_out_of_date);
  /// Nothing that waits or is under way is good for anything now. Credit stays as it is.
  void forget();

  uint64_t link() const { return link_; }
  uint64_t bytes_under_way() const { return sent_ - seen_; }
  /// Names that wait; not what they hold.
  size_t waiting_count() const { return waiting_.size(); }

  friend bool operator==(const link_credit&, const link_credit&) = default;

private:
  struct entry {
    piece_name name;
    urgency haste = urgency::training;
    std::vector<index_range> elements; ///< in the order they go
    friend bool operator==(const entry&, const entry&) = default;
  };
  struct sent_piece {
    piece_name name;
    index_range elements;
    uint64_t position = 0;
    friend bool operator==(const sent_piece&, const sent_piece&) = default;
  };

  entry& entry_of(const piece_name& name, urgency haste);
  span_set under_way(const piece_name& name) const;

  uint64_t link_ = 0;
  size_t window_bytes_ = link_credit_bytes;
  size_t piece_elements_ = 1;
  uint64_t sent_ = 0;                ///< bytes
  uint64_t seen_ = 0;                ///< bytes, by the receiver
  std::vector<entry> waiting_;       ///< in the order they go
  std::deque<sent_piece> under_way_; ///< by position
  bool doubts_ = false;              ///< something under way was wanted
  repair_clock clock_;               ///< since pieces or credit moved
};

/// The receiver's end of a link.
class link_receipt {
public:
  /// A stamp came, with a piece or alone. A stamp of another link begins anew.
  void on_stamp(const link_stamp& stamp);
  /// A sixteenth of the window has come since the sender was told.
  bool due(size_t window_bytes) const {
    return position_ - told_ >= window_bytes / credit_return_parts && is_news();
  }
  /// The sender has not been told of everything.
  bool is_news() const { return position_ > told_; }
  /// What to tell it, as the process `from`.
  credit tell(const std::string& from);

  friend bool operator==(const link_receipt&, const link_receipt&) = default;

private:
  uint64_t link_ = 0;
  uint64_t position_ = 0; ///< the highest seen
  uint64_t told_ = 0;
};

} // namespace troupe
