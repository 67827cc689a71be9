// Exchange messages: what the tensor exchanges of two processes send each other, and what an
// exchange asks its owner to do. Plain structs: actors give them a form on a wire.

#pragma once

#include "coordinators/exchange/tensor_name.hpp"
#include "models/base/buffer.hpp"

#include <array>
#include <cstdint>
#include <variant>
#include <vector>

namespace troupe {

/// A few numbers that belong to a tensor and travel with each of its pieces. A gradient's note has
/// the sums of its rows, its replica and the time it took.
struct tensor_note {
  std::array<uint64_t, 4> facts{};   ///< follow from the name, as the values do
  std::array<uint64_t, 2> remarks{}; ///< may differ; of several the greatest counts

  friend bool operator==(const tensor_note&, const tensor_note&) = default;
};

/// A place on a link, in bytes of values that its sender gave to it. On a piece: the place of its
/// end. Alone: the question what has come. The other way: the answer, the credit: all before it has
/// come, or is lost.
struct link_position {
  uint64_t link = 0; ///< the link's number, as the sender of the pieces counts
  uint64_t bytes = 0;

  friend bool operator==(const link_position&, const link_position&) = default;
};

/// Elements [first_element, + values) of a tensor.
struct tensor_piece {
  tensor_name of;
  uint64_t first_element = 0;
  float_view values;
  tensor_note note;
  link_position stamp;

  friend bool operator==(const tensor_piece&, const tensor_piece&) = default;
};

/// These elements of all tensors of this name are missing. Answered by pieces, or by nothing. With
/// `have_come` it ends all wants: the elements of just this tensor have come.
struct tensor_want {
  tensor_name of;
  std::vector<index_range> elements;
  bool or_newer = false; ///< later keys are as good
  bool have_come = false;
  link_position seen{}; ///< the sender's credit: what has come is not under way any more

  friend bool operator==(const tensor_want&, const tensor_want&) = default;
};

// ---- What an exchange asks its owner to do ----

struct send_piece {
  peer_id to = peer_id::director;
  tensor_piece what;
};

struct send_want {
  peer_id to = peer_id::director;
  tensor_want what;
};

/// A question: this much was sent, what has come?
struct send_stamp {
  peer_id to = peer_id::director;
  link_position what;
};

struct send_credit {
  peer_id to = peer_id::director;
  link_position what;
};

/// A tensor is whole on the elements that were expected of it.
struct tensor_arrived {
  tensor_name of;
  index_range elements;
  float_view values;
  tensor_note note;
  bool jump = false;     ///< of the newest: it does not follow the one before
  bool complete = false; ///< nothing else is missing of what was expected with it
  bool newest = false;   ///< it was expected as the newest of its kind
};

/// A peer misses something. What is kept of it is on its way; what goes beside it (a few numbers)
/// and what must be fetched first is the owner's to send. Or it says that a copy has come.
struct tensor_asked {
  peer_id by = peer_id::director;
  tensor_want what;
};

/// This piece may go now, and its values lie where only the owner finds them (kept_tensor::elsewhere):
/// it puts them in and sends it.
struct piece_due {
  peer_id to = peer_id::director;
  index_range elements;
  tensor_piece what; ///< without values
};

using exchange_effect = std::variant<send_piece, send_want, send_stamp, send_credit, tensor_arrived,
                                     tensor_asked, piece_due>;

} // namespace troupe
