// The two ends of a link that pieces travel on: how much may be under way, and what waits until it
// may go.
//
// What is sent lies in the memory of both ends until the receiver reads it, and a wire takes what
// it is given. With a slow or halted receiver the sender's memory would grow without bound. And a
// burst of hundreds of megabytes keeps a healthy link too busy for its signs of life. So a sender
// has credit on a link. Pieces beyond it wait here *by name*: the exchange looks their values up when
// their turn comes. So waiting takes no memory, and values that are kept no longer are not sent.
//
//   add ---> waits ---next: there is credit---> under way ---on_credit---> forgotten
//              |                                    |
//              +-- drop_if, forget: out of date     +-- forget
//
// Nothing is counted that could be lost. A piece carries its *position*: the bytes given to this
// link up to its end. The receiver says the highest position it has seen, and because a link keeps
// its order, everything before that has come or is lost. So the next credit makes a lost one good,
// one that comes twice says nothing new, and lost pieces leak no credit. Should the last pieces or
// the last credit be lost, the sender asks after a while, with the position alone; the answer is
// the ordinary credit. A new link is a new number and starts from 0; credit of another link says
// nothing.
//
// Invariants: at most the window is under way, or a single piece; an element of a tensor neither
// waits twice nor waits while it is under way, however often it is wanted. Once its vectors have
// grown, a link allocates nothing.

#pragma once

#include "coordinators/exchange/exchange_messages.hpp"
#include "coordinators/exchange/link_limits.hpp"
#include "coordinators/exchange/repair_clock.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace troupe {

/// The sender's end.
class outgoing_link {
public:
  outgoing_link() = default;
  /// `link`: its number, another one than those before it.
  outgoing_link(uint64_t link, size_t window_bytes, size_t piece_elements)
    : link_(link), window_bytes_(window_bytes), piece_elements_(piece_elements) {}

  /// Elements of `name` are to be sent. Returns how many were not waiting or under way already.
  size_t add(const tensor_name& name, const index_range& elements, urgency haste);

  struct granted {
    tensor_name name;
    index_range elements;
    uint64_t position = 0; ///< for its stamp

    friend bool operator==(const granted&, const granted&) = default;
  };
  /// The next piece that may be sent; it counts as sent.
  std::optional<granted> next(moment now);

  /// The receiver has seen this much.
  void on_credit(const link_position& seen, moment now);

  /// The position to ask for, when it is time to: credit has been missing for long, or something is
  /// wanted that seemed to be under way.
  std::optional<uint64_t> question(moment now);

  /// Drops what waits and, by its name and elements, is out of date.
  template <class Predicate>
  void drop_if(const Predicate& is_out_of_date) {
    std::erase_if(waiting_, [&](const waiting& x) { return is_out_of_date(x.name, x.elements); });
  }
  /// Nothing that waits or is under way is good for anything now. Credit stays as it is.
  void forget();

  uint64_t link() const { return link_; }
  uint64_t bytes_sent() const { return sent_; }
  uint64_t bytes_seen() const { return seen_; }
  uint64_t bytes_under_way() const { return sent_ - seen_; }
  /// Ranges that wait.
  size_t waiting_count() const { return waiting_.size(); }

  friend bool operator==(const outgoing_link&, const outgoing_link&) = default;

private:
  struct waiting {
    tensor_name name;
    index_range elements;
    urgency haste = urgency::training;
    friend bool operator==(const waiting&, const waiting&) = default;
  };
  struct sent_piece {
    tensor_name name;
    index_range elements;
    uint64_t position = 0;
    friend bool operator==(const sent_piece&, const sent_piece&) = default;
  };

  uint64_t link_ = 0;
  size_t window_bytes_ = link_credit_bytes;
  size_t piece_elements_ = 1;
  uint64_t sent_ = 0;                 ///< bytes
  uint64_t seen_ = 0;                 ///< bytes, by the receiver
  std::vector<waiting> waiting_;      ///< in the order they go
  std::vector<sent_piece> under_way_; ///< by position
  bool doubts_ = false;               ///< something under way was wanted
  repair_clock clock_;                ///< since pieces or credit moved
};

/// The receiver's end.
class incoming_link {
public:
  /// A stamp came, with a piece or alone. A stamp of another link begins anew.
  void on_stamp(const link_position& stamp);
  /// A sixteenth of the window, or many pieces, has come since the last credit.
  bool due(size_t window_bytes) const {
    return is_news() && (seen_.bytes - told_ >= window_bytes / credit_return_parts ||
                         unreported_count_ >= credit_return_pieces);
  }
  /// More has come than the last credit said.
  bool is_news() const { return seen_.bytes > told_; }
  /// Up to where everything has come, or is lost.
  const link_position& seen() const { return seen_; }
  /// The credit to send now; from here on it counts as sent.
  link_position tell();

  friend bool operator==(const incoming_link&, const incoming_link&) = default;

private:
  link_position seen_; ///< the highest
  uint64_t told_ = 0;
  size_t unreported_count_ = 0; ///< stamps since
};

} // namespace troupe
