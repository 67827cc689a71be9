// Orders of a parameter server to trainers of other processes, and what comes of them: fields, meaning,
// units.
//
// Headers say what is ordered and what came of it. The vectors that belong to them (parameters, a
// gradient, a member's state) travel beside them in pieces, as far as there is credit. All may be
// lost, late, or come twice: an order has a number that no other has in its term, and whoever
// misses something of it asks.

#pragma once

#include "actors/protocol/trainer_messages.hpp"

#include <caf/allowed_unsafe_message_type.hpp>

#include <bit>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace troupe {

/// A trainer of another process, in one of that process's lives.
struct trainer_life {
  std::string process;
  uint64_t incarnation = 0;
  uint64_t replica = 0; ///< among those of the process

  friend auto operator<=>(const trainer_life&, const trainer_life&) = default;
};

/// The parameter server's process -> a trainer's, and again while its result is missing.
struct order_header {
  uint64_t term = 0;
  uint64_t number = 0;  ///< of the order: counts those of the term, to whomever they went
  uint64_t replica = 0; ///< among those of the process
  bool evaluates = false;
  // A trainer_order.
  trainer_task task = trainer_task::gradient;
  uint64_t trainer = 0; ///< the index by which the parameter server knows it
  uint64_t member = 0;
  uint64_t first_step = 0; ///< of an evaluation its version
  uint64_t step_count = 1;
  // An evaluation_order; of a trainer_order for clients their positions.
  index_range chunks;
  uint64_t vector_count = 1; ///< that travel beside it: the parameters, then the member's state
  /// Orders of this process whose results are missing, this one among them: of all others up to
  /// `last` nothing need be kept.
  std::vector<uint64_t> open;
  uint64_t last = 0;    ///< the newest order of this process
  uint64_t attempt = 0; ///< of a trainer_order for clients

  friend bool operator==(const order_header&, const order_header&) = default;
};

template <>
inline constexpr trainer_task last_of<trainer_task> = trainer_task::clients;

auto inspect(auto& f, order_header& x) {
  return plain(f, "troupe.order_header", x.term, x.number, x.replica, x.evaluates, x.task,
               x.trainer, x.member, x.first_step, x.step_count, x.chunks, x.vector_count, x.open,
               x.last, x.attempt);
}

/// Vectors that come back when the result is finite: what went out, moved along; the two halves of
/// clients' words.
inline uint64_t result_vector_count(const order_header& x) {
  if (x.evaluates)
    return 0;
  return x.task == trainer_task::clients ? 2 : x.vector_count;
}

/// A trainer's process -> the parameter server's. An evaluation's sums go to the director instead, and no
/// vectors travel.
struct result_header {
  uint64_t term = 0;
  uint64_t number = 0; ///< of the order
  batch_sums sums;
  bool finite = true;
  uint64_t computed_ns = 0;  ///< time it took
  uint64_t vector_count = 0; ///< that travel beside it: the result's values, the member's state
  bool is_lost = false;      ///< the trainer has ended: nothing comes of its orders any more
  std::vector<client_figure> clients{}; ///< of an order for clients: what each did

  friend bool operator==(const result_header&, const result_header&) = default;
};

auto inspect(auto& f, client_figure& x) {
  return inspect_fields(f, x.loss, x.norm, x.verdict);
}

auto inspect(auto& f, result_header& x) {
  return plain(f, "troupe.result_header", x.term, x.number, x.sums, x.finite, x.computed_ns,
               x.vector_count, x.is_lost, x.clients);
}

/// A distant trainer -> its node: what the parameter server wants of the trainer it stands for. Never crosses
/// a wire.
struct distant_order {
  trainer_life who;
  // One of them.
  std::optional<trainer_order> work;
  std::optional<evaluation_order> evaluation;
};

} // namespace troupe

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::distant_order)
