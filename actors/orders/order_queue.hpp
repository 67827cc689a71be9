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

#include "actors/orders/order_vectors.hpp"
#include "actors/protocol/order_messages.hpp"
#include "coordinators/exchange/repair_clock.hpp"

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace troupe {

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

} // namespace troupe
