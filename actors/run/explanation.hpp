// Why nothing moves: who holds up a run, by which chain of waits, and what to do about it.
//
// Each process says only whom it waits for itself. The explanation walks these waits from the director
// (then from everybody else) to their ends, and judges each end by what the director knows of it:
//
//   main --gradients of step 7--> left --activations of step 7--> right, silent for 3 s:   right
//
// The worst end counts: a process without a link, then a silent one, one that waits for something of its own, one whose
// actor is at one piece of work for longer than usual, one that does nothing though others wait for it, and one that
// works as always: then nothing is wrong. Waits without an end are a circle. Before any of those that are heard a link is
// to blame when one end has sent what does not come at the other.
// A run that lacks processes, or waits for its disk, needs no walk; nor does one that moves, but slowly.

#pragma once

#include "actors/run/wait_walk.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

/// What the director waits for while its disk holds it up (`training_status::waits_for`).
inline constexpr std::string_view term_to_be_written = "the term to be written";
inline constexpr std::string_view checkpoint_to_be_written = "a checkpoint to be written";

std::string_view name_of(wait_rule rule);

/// Nothing once the run has ended, while it moves as it should, or has stood still for less than `patience`.
/// Lacking processes are named at once.
std::optional<wait_explanation> explain(const training_status& x,
                                        milliseconds patience = wait_reporter::patience_default);

} // namespace troupe
