// Asynchronous coordinator: one main model that several trainers move without waiting for each other's steps.
//
//   asynchronous_coordinator coordinator{{.gradients = .., .trainer_count = 4}};
//   coordinator.set_parameters(initial);
//   auto work = coordinator.pull(trainer);               // a snapshot, and a ticket for it
//   ... gradient at work.parameters ...
//   auto result = coordinator.push(trainer, work.ticket, gradient, sample_count);
//   for (auto other : result.released)                   // they waited, may pull now
//     ...
//
// The staleness rule (staleness_rule.hpp) decides which trainers wait and which gradients are too
// late. The gradient span (gradient_span.hpp) moves parameters, first in, first out, keeps the
// snapshot of each open ticket, and corrects late gradients if asked to.

#pragma once

#include "coordinators/modes/gradients_coordinator.hpp"
#include "coordinators/modes/staleness_rule.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace troupe {

struct asynchronous_options {
  gradients_coordinator_options gradients; ///< its round_size is not used: the mode decides
  staleness_options consistency = {};
  std::optional<delay_compensation_options> compensation = std::nullopt; ///< not half_synchronous
  size_t trainer_count = 1;                                              ///< >= 1
};

/// The span of all parameters.
gradient_span_options span_options_of(const asynchronous_options& options);

/// What a trainer gets when it asks for work. Without `proceed` there are no parameters.
struct pulled_parameters {
  staleness_decision decision;
  uint64_t version = 0; ///< updates applied so far
  const_buffer parameters;
};

/// What became of a gradient.
struct pushed_gradient {
  staleness_decision decision;
  /// How the update went: `applied`, or `queued` while it is held, or why it could not be. Nothing
  /// when the rule refused it.
  std::optional<gradient_verdict> verdict = std::nullopt;
  std::vector<size_t> released; ///< trainers that waited and may pull now, ascending
  /// That moved the model now, in the order they came: none while they are held or the update is
  /// refused.
  std::vector<applied_gradient> applied = {};

  /// It was handed in already, or its trainer was lost meanwhile: nothing has changed.
  bool is_void() const {
    return decision.reason == staleness_reason::unknown_ticket ||
           decision.reason == staleness_reason::not_a_trainer;
  }
};

/// What a trainer's loss led to.
struct lost_trainer {
  std::vector<size_t> released; ///< trainers that need wait no longer and may pull now, ascending
  /// How the update went that was held for this trainer alone; nothing when there was none.
  std::optional<gradient_verdict> verdict = std::nullopt;
  std::vector<applied_gradient> applied = {}; ///< that moved the model now
};

class asynchronous_coordinator {
public:
  /// Throws std::invalid_argument for options out of range, or compensation where gradients are
  /// held.
  explicit asynchronous_coordinator(const asynchronous_options& options);

  /// The main model's parameters (P); the optimizer starts anew, all tickets are void. Throws as
  /// gradients_coordinator::set_parameters does.
  void set_parameters(std::span<const float> values);

  /// A trainer asks for work; asked twice it gets the same snapshot. Refused before
  /// `set_parameters`.
  pulled_parameters pull(size_t trainer);

  /// A trainer hands in a gradient (P), summed over `sample_count` samples.
  pushed_gradient push(size_t trainer, uint64_t ticket, const const_buffer& gradient_sum,
                       uint64_t sample_count);

  /// A trainer is gone or has no rows left: its ticket is void, no other waits for it.
  lost_trainer lost(size_t trainer);
  /// It is back, or is new: the next index after the last.
  void joined(size_t trainer);

  /// What it remembers beside the parameters while no gradient is being computed: the optimizer's
  /// state, and the gradients that are held. Clocks and accounts begin anew.
  void save(state_saver& out) const { model_.save(out); }
  /// After `set_parameters`.
  void load(state_loader& in);

  const_buffer parameters() const { return model_.parameters(); }
  const staleness_rule& rule() const { return rule_; }
  uint64_t update_count() const { return model_.update_count(); } ///< that moved the parameters

private:
  gradient_verdict close();

  asynchronous_options options_;
  staleness_rule rule_;
  gradient_span model_;
  std::vector<uint64_t> tickets_; ///< of each trainer, the last
};

} // namespace troupe
