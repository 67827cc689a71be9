// Keeper's policy: what distinguishes the modes in which one keeper owns all parameters. A plain
// object; the keeper (keeper.hpp) asks it whenever something happened, and it writes into the books.
//
//   gradients_policy   each trainer computes steps of its own, whose gradients move one model
//   rounds_policy      members train alone for some steps, then their models are merged

#pragma once

#include "troupe/actors/protocol/trainer_messages.hpp"
#include "troupe/coordinators/modes/main_model.hpp"
#include "troupe/coordinators/modes/trainer_roster.hpp"

#include <optional>
#include <string>

namespace troupe {

/// All that a keeper knows, whatever its mode.
struct keeper_books {
  main_model model;
  trainer_roster roster{};
};

/// What became of a result that counts.
struct used_result {
  uint64_t staleness = 0;      ///< of a gradient: updates of others since its order
  bool is_discarded = false;   ///< it came too late
  bool completes_step = false; ///< of several gradients
  std::string not_finite{};    ///< what of it or after it is; empty: nothing
};

class keeper_policy {
public:
  keeper_policy() = default;
  virtual ~keeper_policy() = default;
  keeper_policy(const keeper_policy&) = delete;
  keeper_policy& operator=(const keeper_policy&) = delete;

  /// Training begins from the model, with those on the roster.
  virtual void begin(keeper_books& books) = 0;
  /// Somebody sits there, or does not any more. What of the model after a loss is not finite; empty:
  /// nothing.
  virtual void on_joined(size_t) {}
  virtual std::string on_lost(size_t, keeper_books&, moment) { return {}; }
  /// What it means that so many are left, for people.
  virtual std::string remark() const { return {}; }

  /// Pieces below it may be begun now.
  virtual uint64_t piece_limit(keeper_books& books) = 0;
  /// Work for somebody who is free; nothing: it is to wait.
  virtual std::optional<trainer_order> order_for(size_t seat, keeper_books& books, moment now) = 0;
  virtual used_result on_result(const trainer_result& news, keeper_books& books, moment now) = 0;

  /// The first step that has not begun.
  virtual uint64_t next_step(const keeper_books& books) const = 0;
  /// What an order or result is about: its piece of work, and the round.
  virtual uint64_t piece_of(uint64_t member, uint64_t step) const = 0;
  virtual uint64_t round() const { return 0; }
};

} // namespace troupe
