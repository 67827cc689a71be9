// Order queue: the orders that a parameter server gave to trainers of other processes, until their results arrive. A
// plain object: the node beside the parameter server feeds it.
//
//   open ---> header and vectors go out ---> result's header and vectors, in any order ---> to the parameter server
//     |         ^    | nothing comes: the header again
//     |         +----+
//     +-- the trainer is lost: the order is forgotten, and its late answers are ignored. Either the
//         view no longer names its process, or the process goes on and sends an `is_lost` header
//
// So the parameter server gets at most one result of each order, and none of a lost trainer's: once its header is here,
// and its vectors are, with every owner of a span (task_vectors.hpp).

#pragma once

#include "actors/orders/task_vectors.hpp"
#include "actors/protocol/order_messages.hpp"
#include "coordinators/exchange/repair_clock.hpp"
#include "coordinators/step/timeline.hpp"

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace troupe {

/// An order is late when nothing of it has come for this long, and for three times its trainer's usual time. So neither
/// a slow trainer nor a short delay of the link makes an order late. Other waits are reported to people after the same
/// time (coordinators/run/waits.hpp).
inline constexpr milliseconds order_patience_min{2'000};
inline constexpr int order_patience_factor = 3;

class order_queue {
public:
  /// `vectors`: of the parameter server's own span.
  explicit order_queue(task_vectors& vectors) : vectors_(vectors) {}

  /// A term begins: numbers start again. `owners`: those of spans in other processes, by index in the view.
  void begin_term(uint64_t term, std::map<uint64_t, std::string> owners);

  /// Adds an order and returns its header. `is_here`: for a trainer of this process.
  order_header open(const distant_order& order, bool is_here, moment now);

  /// A trainer's result, and the parameter server to send it to.
  struct finished_order {
    server_actor server;
    trainer_result result;
  };
  /// Takes a result's header; returns the result if it is whole now. Evaluations return nothing: their sums go to the
  /// director. `own`: the own span's part of it, of a trainer of this process.
  std::optional<finished_order> offer(const result_header& news, moment now, span_vectors own = {});
  /// Another owner has these tasks' results; returns those that are whole now.
  std::vector<finished_order> on_progress(const span_progress& news, moment now);
  /// The task's result does not count any more: its header alone is whole. Its trainer has it in hand still.
  std::optional<finished_order> drop(uint64_t task);
  /// Call it when all vectors of a task's result have come to the own span.
  std::optional<finished_order> finish(uint64_t task);
  /// Call it when values of a task's result have come.
  void hear(uint64_t task, moment now);

  /// The lost trainer of a header with `is_lost`; nothing for a header of no open order.
  std::optional<trainer_life> lost_by(const result_header& news) const;

  /// Drops the orders of trainers that are gone.
  void keep_if(const std::function<bool(const trainer_life&)>& is_here);

  /// Headers to send again, because nothing of their orders has come for long.
  std::vector<std::pair<std::string, order_header>> due(moment now);

  /// The late orders: the process that owes each result, and what it is.
  std::vector<awaited> waits(moment now) const;

private:
  struct open_order {
    distant_order order;
    order_header header;
    std::optional<result_header> result{};
    span_vectors own{};            ///< the own span's part of the result, if it did not travel
    std::set<uint64_t> whole_at{}; ///< other owners that have theirs
    bool is_dropped = false;
    repair_clock clock{};
    moment opened{};
    moment heard{}; ///< when something new of it came; at first, when it was opened
  };
  using place = std::map<uint64_t, open_order>::iterator;

  /// The order's header with the numbers of all open orders.
  order_header current(const open_order& x) const;
  /// The result, if all owners have it.
  std::optional<finished_order> finish(place found);
  bool is_whole(const open_order& x) const;
  place find_task(uint64_t task);
  bool is_late(const open_order& x, moment now) const;

  task_vectors& vectors_;
  uint64_t term_ = 0;
  std::map<uint64_t, std::string> owners_; ///< processes of the other owners, by index in the view
  std::map<uint64_t, open_order> open_;    ///< by number
  std::map<std::string, uint64_t> newest_; ///< number, by process
  /// By trainer: the longest time from an order to its result's header. It fades.
  std::map<trainer_life, moment::duration> usual_;
  uint64_t last_number_ = 0;
};

// Work queue: the orders that another process's parameter server gave to trainers of this process. A plain object: the
// node beside the trainers feeds it.
//
//   header ---> its vectors ---> whole: to the trainer ---> its result: kept, header and vectors go out
//                                                             |  ^ the order's header comes again:
//                                                             +--+ so does the result's
//
// For a trainer that has ended, the queue answers every old and new order with an `is_lost` header.
//
// The orders of one trainer begin in the order of their numbers, whichever is whole first. The parameter server relies
// on it: a trainer that has answered an order has carried out all earlier ones. A link keeps the order of headers; a
// lost link also voids its orders.
//
// A trainer may still work on an order of an earlier term, and numbers begin anew with each term. So each order gets a
// ticket that is unique in this process; the queue ignores results with an old ticket.
//
// The queue keeps a result until the parameter server's process has it: each order header lists the missing results. A
// repeated order is never computed again.

/// Bounds of a run's orders.
struct order_bounds {
  timeline plan; ///< as many slices as members
  evaluation_rows rows;
  size_t slot_count = 0;  ///< of a member's optimizer state
  size_t cohort_max = 0;  ///< clients of a round; 0: the run has none
  bool own_start = false; ///< members begin with models of their own
};

/// False for a header that no parameter server of this run sends. Such a header names missing rows or members, more
/// steps than an epoch has, or other vectors than its work needs. Headers come over a wire: a trainer that obeyed this
/// one would read beyond the data, or for ever.
bool is_possible(const order_header& news, const order_bounds& bounds);

/// Likewise for an entry of the decisions.
bool is_possible(const sequence_entry& news, const order_bounds& bounds);

/// Who owns which elements.
struct span_owners {
  std::vector<tensor_source> others; ///< in other processes
  vector_buffers here;               ///< the owner of this process; no elements: there is none
};

class work_queue {
public:
  /// `buffers`: for the vectors of orders, of all elements.
  work_queue(exchange_port& exchange, vector_buffers buffers)
    : exchange_(exchange), buffers_(std::move(buffers)) {}

  /// A term begins: all orders are void. The exchange must have forgotten their vectors.
  void begin_term(uint64_t term, span_owners owners = {});

  /// Takes an order's header. Returns the result's header if the order is finished (that header was lost or is late),
  /// or if its trainer has ended.
  std::optional<result_header> offer(const order_header& news, moment now);

  /// An order that its trainer can begin now.
  struct whole_order {
    order_header header;
    uint64_t ticket = 0; ///< what its trainer knows it by
    const_buffer parameters;
    optimizer_state state; ///< the member's
  };
  /// Call it when all vectors of an order, or the model of this number, have come; returns the orders that can begin now.
  std::vector<whole_order> begin(tensor_kind kind, uint64_t key);
  /// The whole orders of this trainer, up to the first that is not: call it when a header has come, too.
  std::vector<whole_order> begin_whole(uint64_t replica);
  /// The vectors of an order, or a model, that is over: no order will need it.
  bool is_over(const tensor_name& name) const;

  struct finished_work {
    uint64_t task = 0;
    result_header header;
    span_vectors own{}; ///< the part of this process's owner, if there is one
  };
  /// Takes a local trainer's result: the other owners get their parts. Nothing if the parameter server does not miss it.
  std::optional<finished_work> finish(const trainer_result& news, moment now);
  std::optional<result_header> finish(const evaluation& news);

  /// A local trainer has ended: returns `is_lost` headers for its orders without a result. `offer` answers its later
  /// orders at once.
  std::vector<result_header> lose(uint64_t replica);

private:
  struct order_in_work {
    order_header header;
    std::optional<arriving_vectors> vectors{}; ///< until it is begun; nothing: it has none
    uint64_t ticket = 0;                       ///< once it is begun
    std::optional<result_header> result{};
  };
  using place = std::map<uint64_t, order_in_work>::iterator;

  place find_task(uint64_t task);
  bool is_whole(const order_in_work& x) const;
  arriving_vectors arriving(tensor_kind kind, uint64_t key, size_t count, moment now) {
    return {exchange_, kind, key, count, owners_.others, buffers_, now, owners_.here.elements};
  }
  result_header end_without_result(uint64_t number, order_in_work& x);
  void forget_all_but(const std::vector<uint64_t>& open, uint64_t last);
  /// Those that no order begins with are forgotten, but for the newest if it is whole.
  void forget_models();

  exchange_port& exchange_;
  vector_buffers buffers_;
  span_owners owners_;
  uint64_t term_ = 0;
  std::map<uint64_t, order_in_work> orders_;    ///< by number
  std::set<uint64_t> lost_;                     ///< trainers
  std::map<uint64_t, arriving_vectors> models_; ///< by number
  uint64_t newest_ = 0;                         ///< the newest order that a header named
  uint64_t newest_task_ = 0;                    ///< of all headers
  uint64_t last_ticket_ = 0;                    ///< of all terms
};

} // namespace troupe
