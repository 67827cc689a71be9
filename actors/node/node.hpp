// Node: one in each process of a run. It stands between the replicas and shards of its process and
// everybody else, and computes nothing.
//
// To local replicas it looks like the remote shards: their gradients go out in pieces, and the
// parameters they wait for come from it, whole versions one by one. To local shards it looks like
// the remote replicas: pieces of gradients are put together and handed over. It turns the
// director's cluster views into views of local actors, and speaks for its process.
//
//                 term begins              state is here, shards told
//   no view yet ---------------> restoring --------------------------> taking part
//        ^                           ^                                   |     |
//        | turned away, or a view    |          a higher term            |     |
//        | without this process      +-----------------------------------+     |
//        +---------------------------------------------------------------------+
//
// Repair is asking (`want`): who misses something for 200 ms asks whoever owns it, and the answer
// is the ordinary message. So what was sent is kept while somebody may ask: gradients until the
// next version is whole here, the last two versions of local spans, the last two checkpoint copies,
// and results until the director's course says that they arrived. Gradients go as the largest sums
// that this process owns (coordinators/step/local_sums.hpp): replicas do the adding when it asks.
//
// Pieces go out as far as there is credit (coordinators/exchange/link_credit.hpp); what waits for
// it waits by name, and its values are looked up in what is kept when their turn comes.
//
// Where a keeper owns all parameters (`kept`), nobody marches in step: the node beside the keeper
// passes its orders on to trainers of other processes, and their nodes pass on what came of them
// (actors/orders/order_desk.hpp, actors/orders/work_desk.hpp).
//
// In a run of one process (`wired` false) replicas and shards exchange pointers themselves, and the
// node only passes on views and courses and answers the director.

#pragma once

#include "troupe/actors/base/guard.hpp"
#include "troupe/actors/base/work_gauge.hpp"
#include "troupe/actors/node/node_exchange.hpp"
#include "troupe/actors/orders/order_desk.hpp"
#include "troupe/actors/orders/work_desk.hpp"
#include "troupe/actors/protocol/cluster_messages.hpp"
#include "troupe/coordinators/exchange/link_credit.hpp"
#include "troupe/coordinators/exchange/repair_clock.hpp"
#include "troupe/coordinators/membership/view_check.hpp"
#include "troupe/coordinators/step/local_sums.hpp"

#include "troupe/models/network/model.hpp"

#include <caf/stateful_actor.hpp>
#include <caf/typed_event_based_actor.hpp>

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace troupe {

/// How often a node looks whether something is missing: a quarter of the shortest patience.
inline constexpr milliseconds node_tick_interval{50};

/// How often a node reports to the director without a reason.
inline constexpr milliseconds node_report_interval{1000};

/// How often while it has no link to a member: whoever is to be taken out for that is so only when
/// it is said still, so this much later at most.
inline constexpr milliseconds broken_link_interval{250};

/// How long a local actor may take to say what it has done or to hand over a version: it may be in
/// the middle of a long step, so this is far more than any step should take.
inline constexpr std::chrono::minutes local_answer_deadline{10};

struct node_options {
  member self;
  bool wired = true; ///< the run has other processes
  bool kept = false; ///< the shard is a keeper, and replicas are trainers
  std::shared_ptr<const model> network;
  std::shared_ptr<buffer_pool> parameters; ///< buffers of the model's size
  timeline plan;
  evaluation_rows rows;
  uint64_t seed = 0;     ///< of the job
  size_t slot_count = 0; ///< of the optimizer
  bool uses_norms = false;
  size_t piece_elements = 0;
  size_t credit_bytes = link_credit_bytes;         ///< that may be under way to one neighbour
  standing_listener on_standing;                   ///< called on the node's thread; may be empty
  misfit_listener on_misfit;                       ///< likewise
  std::vector<std::shared_ptr<work_gauge>> gauges; ///< of replicas; none: nobody judges them
  std::function<void()> on_hold;                   ///< likewise, when the director asks to hold
};

/// A gradient whose values leave as they are computed.
struct begun_gradient {
  contribution whole; ///< all its values, final or not
  span_set sent;      ///< elements that were final, and are on their way
};

class node_state {
public:
  explicit node_state(local_node_actor::pointer self) : self_(self) {}

  local_node_actor::behavior_type make_behavior(const node_options& options,
                                                std::vector<replica_actor> replicas,
                                                std::vector<shard_actor> shards);

  static inline const char* name = "node";

private:
  // The director's messages.
  void on_director(uint64_t incarnation, const director_link_actor& director);
  void on_cluster_view(const cluster_view& news);
  void on_course(const course& news);
  void on_hold_request(const hold_request& news);
  // Other processes'.
  void on_peer(const std::string& name, uint64_t incarnation, const node_actor& peer);
  void on_gradient_piece(const gradient_piece& news);
  void on_state_piece(const state_piece& news);
  void on_shard_numbers(const shard_numbers& news);
  void on_block_norms(const block_norms& news);
  void on_want(const want& news);
  void on_credit(const credit& news);
  void on_link_stamp(const link_stamp& news);
  void on_order_sheet(const order_sheet& news);
  void on_result_sheet(const result_sheet& news);
  void on_parcel_piece(const parcel_piece& news);
  // Local actors'.
  void on_contribution(const contribution& news);
  not_finite_report malformed(const contribution& news) const;
  void on_parameter_span(const parameter_span& news);
  void on_held(uint64_t replica, uint64_t round, uint64_t next_step);
  void on_shard_copy(const shard_copy& news);
  void on_training_report(const training_report& news);
  void on_evaluation(const evaluation& news);
  void on_not_finite(const not_finite_report& news);
  void on_distant_order(const distant_order& order);

  void on_down(const caf::down_msg& news);
  /// Quits: one of its own actors has ended.
  void lose(const std::string& what, std::ptrdiff_t index, const caf::error& reason);
  /// True when the others go on without this lost replica.
  bool can_spare(size_t replica);
  void on_tick();

  // node_views.cpp: views and courses, from the cluster's to the process's.
  void adopt(const cluster_view& news);
  view_limits limits_here() const;
  bool takes_part() const { return me_.has_value(); }
  /// True when this life of the process is in the view.
  bool names_me(const cluster_view& x) const;
  bool computes() const { return me_ && view_.computes(*me_); }
  /// Gradients and parameters of each step go over wires.
  bool marches() const { return options_.wired && !options_.kept; }
  bool keeper_is_here() const { return options_.kept && !desks_.empty(); }
  void begin_term();
  void start_shards();
  void tell_replicas(uint64_t start_version);
  /// Indexes in the view of local replicas that had no slices in the view before, and have some.
  std::vector<size_t> idle_before(const cluster_view& before, size_t me_before);
  void catch_up(size_t replica);
  void announce_to(size_t replica, uint64_t version);
  void restart_replicas();
  void tell_shards();
  view local_view(uint64_t start_version) const;
  /// Out: local replicas get no slices.
  void rest();
  void pass_on_horizon();
  void tell_shards_horizon();
  void gather_from(std::optional<uint64_t> first);
  void tell_whole_version();
  void ask_to_hold_here(uint64_t round);
  void answer_hold();
  bool awaits_held() const;
  void repeat_results();

  // node_sums.cpp: local replicas' gradients, for the shards of other processes.
  void take_up_slices();
  void carry_out(uint64_t step, const std::vector<local_sums::sum>& sums);
  void have_added(uint64_t step, const local_sums::sum& what);
  void send_sum(const contribution& whole);
  /// To whoever owns these elements in other processes; returns how many that are.
  size_t send_to_shards(const contribution& work, const index_range& elements);
  void on_begun(const contribution& news);
  /// The gradient of this name that is being computed here; null when there is none.
  begun_gradient* begun(uint64_t step, const tree_node& what);

  // node_answers.cpp: what others want, and what is wanted of them.
  void send_gradient(const contribution& work, const index_range& elements, const std::string& to,
                     bool again);
  void answer_parameters(const want& news);
  void answer_gradients(const want& news);
  void answer_norms(const want& news);
  void answer_checkpoint(const want& news);
  void pull_for(const want& news, size_t desk);
  void ask_for_parameters(moment now);
  void ask_for_gradients(moment now);
  void ask_for_norms(moment now);
  void ask_for_state(moment now);
  void ask(const std::string& owner, want question);
  std::vector<std::string> owners_of(const index_range& elements) const;

  // node_orders.cpp: orders of a keeper, and what comes of them.
  void begin_orders();
  /// Spawns those that a new view names, ends those that it does not.
  void meet_distant_trainers();
  /// Null when it is in another process, unless the keeper is here: then who stands for it.
  replica_actor replica_at(const replica_place& place) const;
  trainer_life life_of(const replica_place& place) const;
  const std::string& keeper_process() const;
  void post_vectors(const std::string& to, piece_name what, uint64_t vector_count,
                    const std::vector<index_range>& ranges, bool again);
  void forget_orders_of_the_lost();
  void lose_distant_trainer(const trainer_life& who);
  void deliver(const std::optional<order_desk::finished_order>& order);
  void give(const work_desk::whole_order& order);
  void send_result(const std::optional<result_sheet>& sheet);
  void answer_parcels(const want& news);
  void ask_for_parcels(moment now);
  std::optional<payload> kept_vector(const piece_name& what) const;

  // node_links.cpp: what goes to others, and how much of it.
  template <class T>
  void send_to(const std::string& to, const T& message);
  link_credit* credit_of(const std::string& who);
  /// Elements of something kept here are to be sent, within one shard's span.
  void post(const std::string& to, const piece_name& what, const index_range& elements,
            urgency haste, bool again);
  /// Sends what there is credit for.
  void flow(const std::string& to);
  void flow_everywhere();
  void send_piece(const std::string& to, const link_credit::granted& piece);
  const contribution* kept_gradient(const piece_name& what);
  /// The values of a whole span; nothing when they are kept no longer.
  std::optional<payload> kept_state(const piece_name& what) const;
  bool is_kept(const piece_name& what);
  void forget_what_waits();
  /// A piece came: its sender hears of it now and then.
  void acknowledge(const link_stamp& stamp);
  void tell_credit(const std::string& to);

  // node_report.cpp: what it says about its process.
  /// Asks its actors what they did, and reports when all have answered, or a moment later.
  void report_soon();
  void ask_actor(size_t index);
  void on_actor_heard(size_t index);
  bool everybody_answered() const;
  /// The director's wants that all actors had heard of when they answered.
  uint64_t heard_round() const;
  work_report work_of_actors() const;
  /// Who of this process can say what everybody did; null when nobody can.
  shard_actor who_counts() const;
  void report();
  std::vector<std::string> members_without_link() const;
  std::vector<awaited> waits_for() const;
  void add_waits_of(const shard_desk& desk, std::vector<awaited>& out) const;

  local_node_actor::pointer self_;
  node_options options_;
  std::vector<replica_actor> replicas_;
  std::vector<shard_actor> shards_;
  std::set<size_t> lost_replicas_; ///< without which the others go on

  director_link_actor director_;
  struct peer {
    uint64_t incarnation = 0;
    node_actor actor;
    link_credit out;
  };
  std::map<std::string, peer> peers_; ///< those with a link
  link_credit to_director_;
  std::map<std::string, link_receipt> receipts_; ///< by sender

  cluster_view view_;
  std::string misfit_;             ///< why the newest view cannot be followed; empty: it can
  std::optional<size_t> me_;       ///< index in the view
  std::vector<uint64_t> restarts_; ///< of local replicas, each
  bool replicas_begun_ = false;    ///< in this stay: they know the version to start from
  std::shared_ptr<version_buffers> versions_;
  std::optional<restoring_state> restoring_; ///< while shards wait for a checkpoint's state
  version_gathering gathering_;
  std::map<uint64_t, buffer> gathered_; ///< by version, while it is gathered or whole
  std::vector<shard_desk> desks_;       ///< local shards with a span
  local_sums sums_;
  std::map<uint64_t, std::vector<contribution>> parts_;   ///< by step: not sent yet
  std::map<uint64_t, std::vector<contribution>> sent_;    ///< by step: gradients of local replicas
  std::map<uint64_t, std::vector<begun_gradient>> begun_; ///< by step: leave as they are computed
  std::map<uint64_t, std::vector<block_norms>> norms_;    ///< by step: of local shards
  repair_clock parameters_clock_;
  repair_clock restoring_clock_;

  order_desk orders_; ///< of the keeper here
  std::map<trainer_life, trainer_actor> distant_;
  std::set<trainer_life> lost_trainers_; ///< of processes that go on without them
  work_desk work_;                       ///< of the trainers here

  course course_;
  bool has_course_ = false;
  std::optional<hold_request> hold_;  ///< until the next course
  std::map<uint64_t, uint64_t> held_; ///< next step by local replica, of this hold
  std::optional<hold_answer> hold_answer_;

  std::map<uint64_t, training_report> rows_; ///< by version, until the course passes them
  std::map<uint64_t, training_report> marks_;
  std::map<std::pair<uint64_t, uint64_t>, evaluation> evaluations_;
  std::optional<not_finite_report> not_finite_;
  repair_clock results_clock_;
  uint64_t kept_version_ = 0; ///< the keeper's here, as last reported

  std::vector<replica_status> statuses_; ///< of local replicas, as last heard
  trainer_figures figures_;              ///< of everybody, likewise
  /// A local actor, which answers when it is done with what it computes.
  struct asked_actor {
    std::optional<moment> since; ///< asked, and has not answered
    uint64_t asked_round = 0;
    uint64_t heard_round = 0;
  };
  std::vector<asked_actor> asked_; ///< replicas, then shards
  bool report_is_due_ = false;
  uint64_t wanted_round_ = 0; ///< of the director's wants
  moment last_report_{};
  std::vector<std::string> unreachable_; ///< members without a link, as last reported
  uint64_t bytes_sent_ = 0;
  uint64_t bytes_early_ = 0;
  uint64_t resends_ = 0;
};

local_node_actor::behavior_type node(self_pointer<local_node_actor, node_state> self,
                                     const node_options& options,
                                     const std::vector<replica_actor>& replicas,
                                     const std::vector<shard_actor>& shards);

} // namespace troupe
