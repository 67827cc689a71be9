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

#pragma once

#include "actors/orders/order_vectors.hpp"
#include "actors/protocol/order_messages.hpp"
#include "coordinators/step/timeline.hpp"
#include "models/optimizers/optimizer.hpp"

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

namespace troupe {

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
