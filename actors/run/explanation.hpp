// Why nothing moves: who holds up a run, by which chain of waits, and what to do about it.
//
// Each process says only whom it waits for itself. The explanation walks these waits from the director
// (then from everybody else) to their ends, and judges each end by what the director knows of it:
//
//   main --gradients of step 7--> left --activations of step 7--> right, silent for 3 s:   right
//
// The worst end counts: a process without a link, then a silent one, one that waits for something of its own, one that
// computes, and one that does nothing though others wait for it: then what it sent is on the way.
// Waits without an end are a circle. A run that lacks processes, or waits for its disk, needs no walk.

#pragma once

#include "troupe/actors/protocol/status_messages.hpp"
#include "troupe/coordinators/run/waits.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

/// What the director waits for while its disk holds it up (`training_status::waits_for`).
inline constexpr std::string_view term_to_be_written = "the term to be written";
inline constexpr std::string_view checkpoint_to_be_written = "a checkpoint to be written";

enum class wait_rule {
  missing,    ///< a process that has no link to the director
  joining,    ///< everybody is there, and the run cannot begin or go on yet
  disk,       ///< the director writes
  silent,     ///< linked, and not heard for longer than a report may take
  own_part,   ///< waits for something of its own
  computing,  ///< at one piece of work
  on_the_way, ///< heard, at no work, waits for nobody: what it sent has not come
  circle,     ///< all wait for each other
  director    ///< nobody says whom it waits for
};

/// "who waits for `from`: what"; `from` is empty for a part of its own.
struct explained_wait {
  std::string who;
  std::string from;
  std::string what;

  friend bool operator==(const explained_wait&, const explained_wait&) = default;
};

struct wait_explanation {
  wait_rule rule{};
  std::vector<std::string> culprits; ///< processes, in order of the cluster file; never empty
  std::vector<explained_wait> chain; ///< to the first culprit; empty when nobody names it
  std::string verdict;               ///< one sentence
  std::string advice;                ///< what to look at, and what happens when nobody does
};

std::string_view name_of(wait_rule rule);

/// Nothing while the run moves, has ended, or has stood still for less than `patience`. Lacking processes
/// are named at once.
std::optional<wait_explanation> explain(const training_status& x,
                                        milliseconds patience = wait_teller::patience_default);

} // namespace troupe
