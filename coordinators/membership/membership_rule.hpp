// The membership rule: which processes take part in a run, and what a loss costs.
//
//              all are here, or the                  the term is
//              join timeout passed                   on disk
//   joining --------------------------> restarting --------------> running <--+ joins and other
//      |                                    ^                       |  |      | losses: a new
//      | no replica or no shard in time     |   a span was lost     |  +------+ number
//      v                                    +-----------------------+
//   stopped <-- from anywhere: a higher term was seen, or the run could not go on for the join timeout
//
// Intuition: any replica can compute gradients again; a lost span with its optimizer state is gone.
// So losing a process without spans costs a new view number, and its slices go to others. Losing a
// span costs a new term: all go back to the newest version of which the others hold copies
// (cut_rule.hpp), else to the last complete checkpoint. The director writes a term to disk before
// its first use, so after a new start it uses none twice. A director that meets a higher term knows
// that it has been replaced.
//
// A name may have many lives, one after the other. A process that was lost, or taken out because
// others have no link to it, is never admitted again under that incarnation: a late join message
// would bring back a dead process whose loss is never reported again. It draws a new incarnation
// and joins anew.
//
// Two members without a link to each other cannot train together although the director sees both.
// When that lasts (the first reporter still reports it: one report may be about a life or a moment
// that is over), exactly one goes: the one without spans (it costs no roll-back), else the one with
// more such links (it is the one cut off), else the later one in order. Never the director's own
// process. It may join anew, but is admitted after a while only (outsiders.hpp).
//
// A process that comes takes part in two steps, so that nobody waits for it (`links_first`). It is
// admitted once it has links with all members (outsiders.hpp), and follows their versions. It gets
// slices once it has a version.
//
// A process may ask to leave (leave_rule.hpp). One without spans goes at once. Else all hold, and when they stand at a
// version a term begins there without its spans; it goes when all have what it holds. Spans come to processes that have
// none in the same way, a while after they came.
//
// The cluster file lists processes, and the run waits for those. It may let others join (`lets_join`): they come behind
// the listed ones, in the order in which they were admitted, and nobody waits for one that is lost.
//
// A member that sends heartbeats and does nothing (its computing threads hang, work_watch.hpp) is
// taken out likewise, and not admitted while it hangs. When no member works and nothing moves,
// members wait in a circle: a new term breaks it.
//
// Where a model is split over groups of replicas, any replica can carry any partition
// (group_mending.hpp). So training stops only when there are fewer replicas than a group has: then no
// view is published and no term begins, as without any replica. Where rows have holders, the same is so while nobody
// present has the rows of some holding.
//
// Every wait has an end: when no replica or no shard has been there for the join timeout, the rule
// gives up. Until then it names the missing processes, each time they change.
//
// Invariants: view numbers strictly increase; a published term has been persisted; within a term no
// span moves; every slice has one owner, or one complete group, when there is one; a lost incarnation
// is in no later view; the start version of a term is that of the last complete checkpoint, or a
// later one of which its members hold every part.

#pragma once

#include "coordinators/base/moment.hpp"
#include "coordinators/membership/leave_rule.hpp"
#include "coordinators/membership/outsiders.hpp"
#include "coordinators/membership/speed_rule.hpp"
#include "coordinators/membership/view_placement.hpp"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace troupe {

/// A process of the cluster file, and what it is to bring; one without work is not waited for.
struct expected_member {
  std::string name;
  size_t replica_count = 0;
  size_t shard_count = 0;

  bool works() const { return replica_count + shard_count > 0; }
  friend bool operator==(const expected_member&, const expected_member&) = default;
};

/// A number that no earlier director of a run can have led: the highest term on its disk, or the
/// time, in milliseconds since 1970, whichever is more. A director without a disk has the time
/// alone; processes that outlived the one before it follow it all the same.
uint64_t term_floor(uint64_t on_disk, std::chrono::nanoseconds since_epoch);

struct membership_options {
  std::vector<expected_member> expected; ///< in order of the cluster file; views keep this order
  bool lets_join = false;                ///< processes that are not among them
  std::string home;                      ///< the director's own process; empty: none of them
  size_t slice_count = 1;
  size_t parameter_count = 0;
  model_split split = {};
  row_holders holders = {};   ///< of models that are not split
  bool has_one_owner = false; ///< of all parameters: an optimizer needs the whole model
  std::string decider = {};   ///< no view goes without this process: it has the parameter server
  bool links_first = false;   ///< a process is admitted with links to all members, not without
  std::optional<size_t> min_nodes =
    {}; ///< to begin with, joined ones included; absent: all that are expected, and no others count
  milliseconds settle{5'000}; ///< with `min_nodes` training begins when nobody came for so long
  milliseconds join_timeout{60'000};
  milliseconds lost_after{5'000};
  milliseconds leave_patience = leave_rule::patience_default;
  milliseconds spread_after{
    10'000}; ///< spans come to processes that came: those that come together are there by then
  speed_options speeds{};          ///< when slices move to faster replicas
  copy_options copies{};           ///< of spans, by which a term begins where the last one was
  uint64_t persisted_term = 0;     ///< the first term is above this one (term_floor)
  uint64_t checkpoint_version = 0; ///< of the last complete checkpoint; 0: there is none

  /// No other process can ever take part.
  bool is_alone() const { return expected.size() <= 1 && !lets_join; }

  friend bool operator==(const membership_options&, const membership_options&) = default;
};

// Decisions, to be carried out in order. Each says why, for the log.
/// Write this term to disk, sync it, then call `on_term_persisted`.
struct persist_term {
  uint64_t term = 0;
  std::string reason;
  friend bool operator==(const persist_term&, const persist_term&) = default;
};
/// Ask these members which copies they hold (`copies_request`).
struct ask_copies {
  uint64_t term = 0;
  std::vector<std::string> names;
  friend bool operator==(const ask_copies&, const ask_copies&) = default;
};
/// Let all stand at a version: then a term begins there (`on_cut`). Decided again while it is wanted.
struct ask_cut {
  std::string reason;
  friend bool operator==(const ask_cut&, const ask_cut&) = default;
};
/// Send this view to all its members. `restarts`: a term begins, all load its start version.
struct publish {
  cluster_view view;
  bool restarts = false;
  std::string reason;
  bool is_cut = false; ///< it begins where all stand
  friend bool operator==(const publish&, const publish&) = default;
};
/// Training stands still, or has not begun, for want of these processes. Decided anew when it changes.
struct wait_for {
  std::vector<std::string> names; ///< of the missing processes
  moment since;
  std::string reason;
  std::string need =
    {}; ///< how many nodes, or replicas of a split model, are too few; or whose rows nobody here has
  friend bool operator==(const wait_for&, const wait_for&) = default;
};
/// Turn this process away: it may join anew, under a new incarnation.
struct turn_away {
  std::string name;
  uint64_t incarnation = 0;
  std::string reason;
  bool has_left = false; ///< as it asked for
  friend bool operator==(const turn_away&, const turn_away&) = default;
};
/// This process has no link with some members, and so takes no part until it has.
struct stays_out {
  std::string name;
  std::string reason; ///< names them
  friend bool operator==(const stays_out&, const stays_out&) = default;
};
/// End the run: too few processes are there to go on (exit code 69).
struct give_up {
  std::string reason;
  friend bool operator==(const give_up&, const give_up&) = default;
};
/// Stop at once and touch no file: another director leads this run.
struct stand_down {
  std::string reason;
  friend bool operator==(const stand_down&, const stand_down&) = default;
};

using membership_decision = std::variant<persist_term, ask_copies, ask_cut, publish, wait_for,
                                         turn_away, stays_out, give_up, stand_down>;
using membership_decisions = std::vector<membership_decision>;

class membership_rule {
public:
  /// `now`: when the director began to wait for the others.
  membership_rule(membership_options options, moment now);

  /// A process is connected and ready. A former life of that name that still counts as present is
  /// lost by this. Again under the same incarnation: nothing.
  membership_decisions on_joined(const member& who, moment now);
  /// The link to this life of a process is gone for good.
  membership_decisions on_lost(const std::string& name, uint64_t incarnation, moment now);
  /// `reporter` has no link to `peer`, or has one again. Nodes are to repeat the report while it is
  /// so: a single report takes no member out. The caller drops reports of former lives.
  membership_decisions on_unreachable(const std::string& reporter, const std::string& peer,
                                      moment now);
  membership_decisions on_reachable(const std::string& reporter, const std::string& peer,
                                    moment now);
  /// A member sends heartbeats and does nothing; `why` in words. For the director's own process nothing happens.
  membership_decisions on_hung(const std::string& name, const std::string& why, moment now);
  membership_decisions on_fitness(const std::string& name, const fitness& news, moment now);
  /// Slices are shared so from now on; `why` in words.
  membership_decisions on_speeds(const speed_wish& wish, const std::string& why);
  /// Nothing moves and no member works: all begin anew.
  membership_decisions on_standstill(const std::string& why, moment now);
  /// All stand at this version.
  membership_decisions on_cut(uint64_t version);
  /// The next term starts from this checkpoint, or from a later cut, if that is one of these versions.
  void on_restarts(uint64_t checkpoint, const index_range& cuts);
  /// This term was seen: in a hello, a report, or on disk.
  membership_decisions on_term_seen(uint64_t term);
  membership_decisions on_term_persisted(uint64_t term);
  /// Now and then, a few times a second.
  membership_decisions on_tick(moment now);

  enum class phase : uint8_t { joining, restarting, running, stopped };
  phase state() const { return phase_; }
  /// The view published last: the director sends it to processes that report an older one.
  const std::optional<cluster_view>& view() const { return view_; }
  /// The admitted members, in order; one that is let go with nothing.
  std::vector<member> present() const;

  friend bool operator==(const membership_rule&, const membership_rule&) = default;

private:
  using link = std::pair<std::string, std::string>; ///< reporter, peer
  struct broken_link {
    moment since;
    moment last; ///< it was said again

    friend bool operator==(const broken_link&, const broken_link&) = default;
  };

  std::optional<size_t> order_of(const std::string& name) const;
  /// The member of this name; null: it is not here.
  const member* find(const std::string& name) const;
  bool is_present(const std::string& name) const { return find(name) != nullptr; }
  /// What training lacks altogether: "a replica", "a shard", both, "a group of replicas"; empty when it
  /// can go on.
  std::string lacking() const;
  bool lacks_shard() const;
  bool is_costly(const std::string& name) const;
  std::vector<std::string> missing_names() const;
  /// Fewer are here than a run may begin with.
  bool is_too_few() const;
  size_t working_count() const;
  size_t needed_count() const;

  /// Lets go who leaves, or asks for the cut that it takes.
  void let_go(membership_decisions& out);

  /// Admits processes that are ready for it.
  void admit_waiting(membership_decisions& out);
  void remove(const std::string& name, const std::string& why);
  /// For a while: it may join anew.
  void take_out(const std::string& name, const std::string& why, membership_decisions& out);
  void evict_unreachable(membership_decisions& out);
  const std::string& to_evict(const link& broken) const;
  void note(const std::string& what);

  /// Does what the state asks for now; all events end here.
  membership_decisions settle(membership_decisions out = {});
  void start_if_due();
  void go_on_to_new_term(membership_decisions& out);
  void publish_if_changed(membership_decisions& out);
  void announce(cluster_view view, bool restarts, membership_decisions& out);
  /// Names the missing processes, or gives up, when the run cannot go on.
  void wait_if_lacking(membership_decisions& out);
  std::string why_it_ends(const std::string& lacks) const;
  void stop(membership_decision last, membership_decisions& out);

  membership_options options_;
  phase phase_ = phase::joining;
  moment now_;
  struct seat {
    std::string name;
    std::optional<member> who; ///< nothing: not here
    friend bool operator==(const seat&, const seat&) = default;
  };
  std::vector<seat> seats_; ///< of the expected processes, and behind them of those that joined
  std::map<std::string, std::set<uint64_t>> lost_lives_; ///< incarnations that are over
  outsiders outside_;
  struct newcomer {
    moment since;
    bool has_version = false;
    friend bool operator==(const newcomer&, const newcomer&) = default;
  };
  std::map<std::string, newcomer> newcomers_; ///< admitted within the term, without slices
  moment joined_at_{};                        ///< when a process came last
  std::map<link, broken_link> broken_;
  replica_speeds speeds_;
  std::optional<speed_wish> wish_; ///< for the next view
  struct term_numbers {
    uint64_t known = 0; ///< the highest that may be in use
    uint64_t asked = 0; ///< to be persisted
    uint64_t persisted = 0;
    friend bool operator==(const term_numbers&, const term_numbers&) = default;
  };
  term_numbers terms_;
  struct restart_points {
    uint64_t checkpoint = 0; ///< of the last complete one
    index_range cuts{};      ///< versions at which a cut may lie
    cut_question question;
    std::optional<uint64_t> stand{};     ///< all stand at it, so the next term begins there
    std::optional<moment> stand_asked{}; ///< when a cut was asked for last
    std::string stand_why{};
    std::optional<moment> spread_at{}; ///< when to look for processes without spans
    friend bool operator==(const restart_points&, const restart_points&) = default;
  };
  restart_points restart_; ///< where the next term may begin
  leave_rule leaving_;
  std::optional<cluster_view> view_;
  std::optional<moment> lacking_since_; ///< no replica or no shard
  std::optional<wait_for> told_;        ///< the last `wait_for`, while it lasts
  std::string why_;                     ///< what happened since the last view, for its reason
};

} // namespace troupe
