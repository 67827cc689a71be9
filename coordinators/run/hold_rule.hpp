// The hold rule: how a cluster that may lose members agrees on the version it stops at.
//
//            a stop is asked for            all of the view answered
//   running ---------------------> holding --------------------------> named
//                                   |   ^                              |   ^
//                                   +---+ new view: asks anew          +---+ new view: repeats it
//
// Every member with replicas or spans is asked to hold: its replicas start no further step. It
// answers with the first step none of its replicas has started and the versions of its shards. Once
// all members of one view have answered, the stop version is the greatest number in any answer.
//
// It relies on three habits of processes:
//   (a) a member that holds starts no step until it gets a horizon, in any view;
//   (b) a process that has a view sends parameters, asked or not, to its members only;
//   (c) a contribution of an earlier term is dropped.
// In the same term a view may have replicas begin anew: gradients of the steps they had begun are under way all the
// same, so these count as started. A shard keeps its version and the one before.
//
// Let T be the named version, f the members' first steps not started, a the shards' versions as
// answered. A shard completes step s only with gradients from a replica that had every span of s.
//
// No shard passes T + 1, so all still have T: members hold and have started no step from T on. A
// process outside the view (it was lost, it may run on) gets no span after that span's shard
// answered, by (b). So it can have at most the least of the a, and start no step above that. If T =
// max(f, a), shards may thus complete step T with its help, when no member has rows in that step,
// and keep T and T + 1; no replica can start step T + 1.
//
// All reach T: a replica has started T - 1 or a shard is at T. So every shard is or was at T - 1 and,
// at most at T, still keeps it. A replica can get T - 1 whole and may start it by the horizon, and
// the step's slices have owners in the view. Without replicas a shard at T - 1 waits for gradients on
// their way, or for a process that joins, as it would without a stop. A lesser version would be no
// way out: a shard at T no longer has the optimizer's state of T - 1.
//
// A shard that is at T + 1 when it hears of T reports no row of T, though it keeps that version: then T + 1 is named in its
// place. Members compute step T by that horizon, so all reach it; nobody outside has a span of it, so none passes it.
//
// A loss after T was named changes none of this within the term. A new term starts from a version that
// was reached; that may have been T + 1, and then T + 1 is named in its place.
//
// A version at which all stand is of use while training goes on, too: a term can begin there with nothing undone, and with
// other owners of spans (coordinators/membership/leave_rule.hpp).

#pragma once

#include "coordinators/membership/cluster_view.hpp"

#include <map>
#include <string>
#include <variant>
#include <vector>

namespace troupe {

/// What a member on hold reports.
struct hold_answer {
  std::string name;
  view_number view;       ///< the view it had when it answered
  uint64_t next_step = 0; ///< first step no replica of it has started in this term; 0 for a joiner
  std::vector<uint64_t> shard_versions; ///< of its shards with spans

  friend bool operator==(const hold_answer&, const hold_answer&) = default;
};

// Decisions.

/// Ask these members to hold, and to answer when they have this view.
struct ask_to_hold {
  view_number view;
  std::vector<std::string> names;
  friend bool operator==(const ask_to_hold&, const ask_to_hold&) = default;
};
/// The result is this version: a final horizon for all members. Repeated in a new view; the later
/// one counts.
struct stop_at {
  uint64_t version = 0;
  friend bool operator==(const stop_at&, const stop_at&) = default;
};

using hold_decision = std::variant<ask_to_hold, stop_at>;
using hold_decisions = std::vector<hold_decision>;

class hold_rule {
public:
  /// A stop is asked for. Before the first view the rule remembers it. A second time: nothing.
  hold_decisions on_stop_requested();
  /// What was asked for is over, as a term begins: the next request is the first.
  void end() { phase_ = phase::running; }
  /// The director published this view.
  hold_decisions on_view(const cluster_view& view);
  /// A member holds. Of another view, or from a member that was not asked: ignored.
  hold_decisions on_held(const hold_answer& answer);
  /// A process of the view has shards at these versions, in the view's term.
  hold_decisions on_shard_versions(const std::vector<uint64_t>& versions);

  enum class phase : uint8_t { running, holding, named };
  phase state() const { return phase_; }
  /// The members that have not answered yet: what a long hold waits for.
  std::vector<std::string> missing() const;

  friend bool operator==(const hold_rule&, const hold_rule&) = default;

private:
  hold_decisions ask();
  hold_decisions name_if_complete();

  phase phase_ = phase::running;
  cluster_view view_;
  std::map<std::string, hold_answer> answers_;
  uint64_t stop_version_ = 0;
};

} // namespace troupe
