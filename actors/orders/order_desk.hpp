// Order desk: the orders that a keeper gave to trainers of other processes, until their results are
// here. A plain object: the node beside the keeper feeds it.
//
//   open ---> sheet and pieces go out ---> result sheet ---> its pieces ---> whole: to the keeper
//     |         ^    | nothing comes: the sheet again          ^   | some are missing: wanted
//     |         +----+                                         +---+
//     +-- the trainer is lost: forgotten, whatever still comes of it is of no order. Its process
//         is out of the view; or it went on without it and says so by a sheet
//
// So the keeper hears of each order once at most, and never of one whose trainer it has lost. The
// vectors of an order are kept while it is open: whoever has it may ask for them.

#pragma once

#include "troupe/actors/orders/arriving_parcel.hpp"
#include "troupe/coordinators/exchange/repair_clock.hpp"

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace troupe {

/// An order is late when nothing has come of it for this long, and for three times as long as
/// orders of its trainer take: a trainer that needs a minute is at work, and one that needs a
/// millisecond is not late because a link hesitates. As long as people are spared other waits
/// (coordinators/run/waits.hpp).
inline constexpr milliseconds order_patience_min{2'000};
inline constexpr int order_patience_factor = 3;

class order_desk {
public:
  order_desk() = default;
  /// `pool`: buffers of the model's size, for results.
  order_desk(uint64_t term, std::shared_ptr<buffer_pool> pool)
    : term_(term), pool_(std::move(pool)) {}

  /// A new order; returns its sheet. Its `vector_count` vectors are to be sent too.
  order_sheet open(const distant_order& order, moment now);

  /// A trainer's result, and whom it is for.
  struct finished_order {
    keeper_actor keeper;
    trainer_result result;
  };
  /// What comes of orders. Something is returned when a result is whole now; evaluations end
  /// without a word, their sums go to the director.
  std::optional<finished_order> offer(const result_sheet& news, moment now);
  std::optional<finished_order> offer(const parcel_piece& news, moment now);

  /// The trainer that has ended, by a sheet that says so. Nothing: it is of no open order.
  std::optional<trainer_life> lost_by(const result_sheet& news) const;

  /// Trainers that are there no more: their orders are void.
  void keep_if(const std::function<bool(const trainer_life&)>& is_here);

  /// What has been missing for long: a sheet, to be sent again, or a question for values.
  struct reminder {
    std::string to;
    std::variant<order_sheet, want> what;
  };
  std::vector<reminder> due(moment now);

  /// A vector of an open order; nothing when it is open no longer.
  std::optional<payload> kept(uint64_t number, uint64_t vector) const;
  /// The process that an open order was given to, and the count of its vectors.
  struct address {
    std::string process;
    uint64_t vector_count = 0;
  };
  std::optional<address> address_of(uint64_t number) const;

  /// Whom results are awaited from for long, and which.
  std::vector<awaited> waits(moment now) const;

private:
  struct open_order {
    distant_order order;
    order_sheet sheet;
    std::vector<const_buffer> vectors;
    std::optional<result_sheet> result{};
    std::optional<arriving_parcel> values{}; ///< of the result
    repair_clock clock{};
    moment opened{};
    moment heard{}; ///< something new came of it; at first it was opened
  };
  using place = std::map<uint64_t, open_order>::iterator;

  /// With what is open by now.
  order_sheet current(const open_order& x) const;
  std::optional<finished_order> finish_if_whole(place found);
  bool is_late(const open_order& x, moment now) const;

  uint64_t term_ = 0;
  std::shared_ptr<buffer_pool> pool_;
  std::map<uint64_t, open_order> open_;    ///< by number
  std::map<std::string, uint64_t> newest_; ///< number, by process
  /// How long orders took until their result was announced, by trainer: the longest, which fades.
  std::map<trainer_life, moment::duration> usual_;
  uint64_t last_number_ = 0;
};

} // namespace troupe
