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

#include "actors/protocol/status_messages.hpp"
#include "coordinators/run/waits.hpp"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

// The waits of a run, walked from process to process: which ends they have, and which end is the worst. What is below
// says it in words.

enum class wait_rule {
  missing,    ///< a process that has no link to the director
  joining,    ///< everybody is there, and the run cannot begin or go on yet
  disk,       ///< the director's writer
  silent,     ///< linked, and not heard for longer than a report may take
  own_part,   ///< waits for something of its own
  link,       ///< what was sent over it does not come
  computing,  ///< an actor is at one piece of work for longer than usual
  on_the_way, ///< heard, at no work, waits for nobody: what it sent has not come
  working,    ///< at a piece of work as long as others: no fault
  circle,     ///< all wait for each other
  director,   ///< nobody says whom it waits for
  slow        ///< the run moves, and nearly always waits for the same replica
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
  /// Processes, in order of the cluster file; or "right/replica 0", "link left -> right", "disk of main".
  /// Never empty.
  std::vector<std::string> culprits;
  std::vector<explained_wait> chain; ///< to the first culprit; empty when nobody names it
  std::string verdict;               ///< one sentence
  std::string advice;                ///< what to look at, and what happens when nobody does
};

/// As in the lines of the director: who is at one piece of work for so long is said to be.
inline constexpr milliseconds busy_min{1'000};

bool is_silent(const node_status& x);

/// The piece of work that says what a process is at; null: none of its actors is at one.
const work_piece* piece_of(const node_status& x);

/// "link left -> right".
std::string name_of(const link_figures& x);

/// What a silent process said last does not count.
class wait_walk {
public:
  /// `x` is to outlive it.
  explicit wait_walk(const training_status& x);

  /// Rule, culprits and chain of the worst end, in no words yet. Nothing when nobody waits for anybody.
  std::optional<wait_explanation> worst() const;
  /// Of links that carry nothing, one that somebody waits for something over rather than another; null: none.
  const link_figures* bad_link() const;

  milliseconds busy(const std::string& name) const;
  /// Null: there is no such process.
  const node_status* find(const std::string& name) const;

private:
  wait_rule judgement_of(const node_status& x) const;
  wait_rule judgement_of_work(const node_status& x) const;
  bool speaks(const node_status& x) const;
  /// What this process waits for from that one, as far as it counts; null: nothing.
  const awaited* wait_for(const std::string& who, const std::string& from) const;
  /// The first wait for another process that is known.
  const awaited* next_of(const node_status& x) const;
  void walk_from(const node_status& source);
  void close(wait_explanation& x) const;

  const training_status& status_;
  std::map<std::string, const node_status*> nodes_;
  std::map<std::string, milliseconds> busy_;
  std::map<std::string, std::vector<explained_wait>> paths_; ///< by whom it ends at
};

/// What the director waits for while its disk holds it up (`training_status::waits_for`).
inline constexpr std::string_view term_to_be_written = "the term to be written";
inline constexpr std::string_view checkpoint_to_be_written = "a checkpoint to be written";

std::string_view name_of(wait_rule rule);

/// Nothing once the run has ended, while it moves as it should, or has stood still for less than `patience`.
/// Lacking processes are named at once.
std::optional<wait_explanation> explain(const training_status& x,
                                        milliseconds patience = wait_reporter::patience_default);

} // namespace troupe
