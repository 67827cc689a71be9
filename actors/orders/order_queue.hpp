// Order queue: the orders that a parameter server gave to trainers of other processes, until their results are
// here. A plain object: the node beside the parameter server feeds it.
//
//   open ---> header and vectors go out ---> result header ---> its vectors ---> whole: to the parameter server
//     |         ^    | nothing comes: the header again
//     |         +----+
//     +-- the trainer is lost: forgotten, whatever still comes of it is of no order. Its process
//         is out of the view; or it went on without it and says so by a header
//
// So the parameter server hears of each order once at most, and never of one whose trainer it has lost. The
// vectors of an order are kept while it is open; those of a result are expected once its header is
// here.

#pragma once

#include "actors/base/exchange_port.hpp"
#include "actors/protocol/order_messages.hpp"
#include "coordinators/exchange/repair_clock.hpp"
#include "coordinators/step/timeline.hpp"
#include "models/base/buffer.hpp"
#include "models/optimizers/optimizer.hpp"

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

// The vectors of an order or of its result on their way: published by who has them, expected by who
// has the header. All are of the model's size; part k of the tensor is vector k.

/// Vectors of `kind` go to one peer, and are kept until they are forgotten.
inline void publish_vectors(exchange_port& exchange, const tensor_name& first,
                            const std::vector<const_buffer>& vectors, peer_id to, moment now) {
  auto name = first;
  for (const auto& vector : vectors) {
    const tensor_route route{to, {0, vector.size()}};
    exchange->publish({.of = name, .values = {vector, 0, vector.size()}}, {&route, 1}, now);
    ++name.part;
  }
}

/// Where vectors come from: a pool of buffers of the model's size.
struct vector_buffers {
  std::shared_ptr<buffer_pool> pool;
  size_t size = 0;
};

/// Vectors that arrive; they may be written to, as a member's state is.
class arriving_vectors {
public:
  /// Expects `count` >= 1 vectors of this kind and key. Buffers are taken from the pool as their
  /// values come.
  arriving_vectors(exchange_port& exchange, tensor_kind kind, uint64_t key, size_t count,
                   peer_id from, const vector_buffers& buffers, moment now)
    : vectors_(std::make_shared<std::vector<buffer>>(count)) {
    const index_range elements{0, buffers.size};
    expectation what;
    what.kind = kind;
    what.key = key;
    what.elements = elements;
    what.parts = {0, count};
    what.sources = {{from, elements}};
    what.memory = [vectors = vectors_, pool = buffers.pool](const tensor_name& name) {
      auto& one = vectors->at(name.part);
      one = pool->acquire();
      return float_window{one, 0};
    };
    exchange->expect(std::move(what), now);
  }

  const std::vector<buffer>& vectors() const { return *vectors_; }
  optimizer_state state() const {
    return optimizer_state{std::vector<buffer>{vectors_->begin() + 1, vectors_->end()}};
  }

private:
  std::shared_ptr<std::vector<buffer>> vectors_;
};

/// An order is late when nothing has come of it for this long, and for three times as long as
/// orders of its trainer take: a trainer that needs a minute is at work, and one that needs a
/// millisecond is not late because a link hesitates. As long as people are spared other waits
/// (coordinators/run/waits.hpp).
inline constexpr milliseconds order_patience_min{2'000};
inline constexpr int order_patience_factor = 3;

class order_queue {
public:
  /// `buffers`: for results.
  order_queue(exchange_port& exchange, vector_buffers buffers)
    : exchange_(exchange), buffers_(std::move(buffers)) {}

  /// A term begins: numbers start again. The exchange has forgotten all vectors.
  void begin_term(uint64_t term);

  /// A new order; returns its header, which must go before what the exchange has to send.
  order_header open(const distant_order& order, moment now);

  /// A trainer's result, and whom it is for.
  struct finished_order {
    server_actor server;
    trainer_result result;
  };
  /// What comes of orders. Something is returned when a result is whole now; evaluations end
  /// without a word, their sums go to the director.
  std::optional<finished_order> offer(const result_header& news, moment now);
  /// All vectors of a result are here.
  std::optional<finished_order> finish(uint64_t number);
  /// Values of a result have come.
  void hear(uint64_t number, moment now);

  /// The trainer that has ended, by a header that says so. Nothing: it is of no open order.
  std::optional<trainer_life> lost_by(const result_header& news) const;

  /// Trainers that are there no more: their orders are void.
  void keep_if(const std::function<bool(const trainer_life&)>& is_here);

  /// Headers to be sent again, because nothing has come of their orders for long.
  std::vector<std::pair<std::string, order_header>> due(moment now);

  /// Whom results are awaited from for long, and which.
  std::vector<awaited> waits(moment now) const;

private:
  struct open_order {
    distant_order order;
    order_header header;
    size_t vector_count = 0;
    std::optional<result_header> result{};
    std::optional<arriving_vectors> values{}; ///< of the result; nothing when it has none
    repair_clock clock{};
    moment opened{};
    moment heard{}; ///< something new came of it; at first it was opened
  };
  using place = std::map<uint64_t, open_order>::iterator;

  /// With what is open by now.
  order_header current(const open_order& x) const;
  std::optional<finished_order> finish(place found);
  /// Nobody may ask for its vectors any more, or send more of its result.
  void let_go(uint64_t number);
  bool is_late(const open_order& x, moment now) const;

  exchange_port& exchange_;
  vector_buffers buffers_;
  uint64_t term_ = 0;
  std::map<uint64_t, open_order> open_;    ///< by number
  std::map<std::string, uint64_t> newest_; ///< number, by process
  /// How long orders took until their result was announced, by trainer: the longest, which fades.
  std::map<trainer_life, moment::duration> usual_;
  uint64_t last_number_ = 0;
};

// Work queue: the orders that trainers of this process have from a parameter server elsewhere. A plain object:
// the node beside the trainers feeds it.
//
//   header ---> its vectors ---> whole: to the trainer ---> its result: kept, header and vectors go out
//                                                             |  ^ the order's header comes again:
//                                                             +--+ so does the result's
//
// A trainer that has ended answers every order it has or is given with a header that says so.
//
// Orders to one trainer whose headers are here are begun in the order of their numbers, whichever is
// whole first: the parameter server counts on it that a trainer whose answer is here has done all it was told
// before. A link keeps the order of headers; one that is lost with it voids the orders, too.
//
// A trainer may still be at an order of an earlier term, whose numbers begin anew with each. So it knows
// an order by a ticket that no other has had here, and what comes under an earlier one is of no order.
//
// A result is kept until the parameter server's process says that it does not miss it any more: with every
// header it says what it misses. An order that comes again is never computed again.

/// What the orders of a run can be about.
struct order_bounds {
  timeline plan; ///< as many slices as members
  evaluation_rows rows;
  size_t slot_count = 0; ///< of a member's optimizer state
  size_t cohort_max = 0; ///< clients of a round; 0: the run has none
};

/// False for a header that no parameter server of this run sends: it names rows or members that are not there,
/// more steps than a round can have (an epoch's, at most), or other vectors than its work needs.
/// Headers come over a wire: whoever carried it out would read beyond the data, or for ever.
bool is_possible(const order_header& news, const order_bounds& bounds);

class work_queue {
public:
  /// `buffers`: for what orders bring.
  work_queue(exchange_port& exchange, vector_buffers buffers)
    : exchange_(exchange), buffers_(std::move(buffers)) {}

  /// A term begins. Nothing is ordered, and what was is void; the exchange has forgotten it.
  void begin_term(uint64_t term);

  /// A header has come. The header of its result, when that is here: it was lost, or is late; or
  /// its trainer has ended.
  std::optional<result_header> offer(const order_header& news, peer_id server, moment now);

  /// An order that can be begun now.
  struct whole_order {
    order_header header;
    uint64_t ticket = 0; ///< what its trainer knows it by
    const_buffer parameters;
    optimizer_state state; ///< the member's
  };
  /// All vectors of an order are here: those that can be begun by that.
  std::vector<whole_order> begin(uint64_t number);

  /// A trainer here has finished. The result's header, which must go before what the exchange has to
  /// send; nothing when nobody misses it.
  std::optional<result_header> finish(const trainer_result& news, peer_id server, moment now);
  std::optional<result_header> finish(const evaluation& news);

  /// A trainer here has ended: the headers that say so, of its orders without a result. What is
  /// ordered of it from now on is answered at once.
  std::vector<result_header> lose(uint64_t replica);

private:
  struct order_in_work {
    order_header header;
    std::optional<arriving_vectors> vectors{}; ///< until it is begun
    bool is_whole = false;                     ///< they are
    uint64_t ticket = 0;                       ///< once it is begun
    std::optional<result_header> result{};
  };

  /// Those of this trainer that are whole, up to the first that is not.
  std::vector<whole_order> begin_whole(uint64_t replica);
  result_header end_without_result(uint64_t number, order_in_work& x);
  void forget_all_but(const std::vector<uint64_t>& open, uint64_t last);

  exchange_port& exchange_;
  vector_buffers buffers_;
  uint64_t term_ = 0;
  std::map<uint64_t, order_in_work> orders_; ///< by number
  std::set<uint64_t> lost_;                  ///< trainers
  uint64_t newest_ = 0;                      ///< the newest order that was heard of
  uint64_t last_ticket_ = 0;                 ///< of all terms
};

} // namespace troupe
