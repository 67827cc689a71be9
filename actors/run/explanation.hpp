// Explains why a run makes no progress: the process that holds it up, the chain of waits to it, and what to do about
// it.
//
// Each process reports only its own waits. The explanation follows these waits from the director, then from all other
// processes, to their ends. It judges each end by what the director knows of it:
//
//   main --gradients of step 7--> left --activations of step 7--> right, silent for 3 s:   right
//
// The worst end counts, in the order of `wait_rule`: from a process without a link to one that works as usual, where
// nothing is wrong. A link that does not deliver counts as an end, too. Waits without an end are a circle. The waits of
// a run that lacks processes, waits for its disk or is only slow need no walk.

#pragma once

#include "actors/protocol/status_messages.hpp"
#include "coordinators/run/waits.hpp"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

// The waits of a run, followed from process to process: finds their ends, and the worst one. `explain` below puts it in
// words.

enum class wait_rule {
  missing,    ///< a process that has no link to the director
  joining,    ///< all processes are linked, but the run cannot begin or go on yet
  disk,       ///< the director's writer
  silent,     ///< linked, but no report has come for too long
  own_part,   ///< waits for something of its own
  link,       ///< data sent over it do not arrive
  computing,  ///< an actor takes longer than usual for one piece of work
  on_the_way, ///< reports, does not work, does not wait: its data have not arrived
  working,    ///< at a piece of work as long as others: no fault
  circle,     ///< all wait for each other
  director,   ///< no process reports a wait
  slow        ///< the run moves, and nearly always waits for the same replica
};

/// "`who` waits for `from`: `what`"; `from` is empty for a part of its own process.
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
  std::vector<explained_wait> chain; ///< to the first culprit; empty when no process waits for it
  std::string verdict;               ///< one sentence
  std::string advice;                ///< what to look at, and what happens otherwise
};

/// A process that spends this long on one piece of work is shown as busy, as in the director's lines.
inline constexpr milliseconds busy_min{1'000};

bool is_silent(const node_status& x);

/// The piece of work to show for a process; null: none of its actors has one.
const work_piece* piece_of(const node_status& x);

/// "link left -> right".
std::string name_of(const link_figures& x);

/// Follows the waits. Ignores the last report of a silent process.
class wait_walk {
public:
  /// `x` must outlive this object.
  explicit wait_walk(const training_status& x);

  /// Rule, culprits and chain of the worst end, without texts. Nothing when no process waits.
  std::optional<wait_explanation> worst() const;
  /// A link that does not deliver, preferably one that a process waits on; null: none.
  const link_figures* bad_link() const;

  milliseconds busy(const std::string& name) const;
  /// Null: there is no such process.
  const node_status* find(const std::string& name) const;

private:
  wait_rule judgement_of(const node_status& x) const;
  wait_rule judgement_of_work(const node_status& x) const;
  bool speaks(const node_status& x) const;
  /// The wait of process `who` for `from`; null: none, or `who` is silent.
  const awaited* wait_for(const std::string& who, const std::string& from) const;
  /// The first wait for a known process.
  const awaited* next_of(const node_status& x) const;
  void walk_from(const node_status& source);
  void close(wait_explanation& x) const;

  const training_status& status_;
  std::map<std::string, const node_status*> nodes_;
  std::map<std::string, milliseconds> busy_;
  std::map<std::string, std::vector<explained_wait>> paths_; ///< by the process at the end
};

/// Values of `training_status::waits_for` while the director waits for its disk.
inline constexpr std::string_view term_to_be_written = "the term to be written";
inline constexpr std::string_view checkpoint_to_be_written = "a checkpoint to be written";

std::string_view name_of(wait_rule rule);

/// Nothing after the end of the run, while it makes progress, or until it has stood still for `patience`. Names missing
/// processes at once.
std::optional<wait_explanation> explain(const training_status& x,
                                        milliseconds patience = wait_reporter::patience_default);

} // namespace troupe
