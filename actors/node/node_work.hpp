// Node work: what a node does for the actors of its process while it takes part, apart from who
// takes part and how far they go. This one is for a run in one process, where replicas and shards
// exchange pointers: it only hands versions to the director. Others are for synchronous training
// over wires (synchronous_work.hpp) and for a parameter server and its trainers (order_work.hpp).

#pragma once

#include "actors/node/local_actors.hpp"
#include "actors/node/node_context.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace troupe {

// Directive state: how far this process may go, by the director's word, and the request to hold.
//
//              newer directive: replicas and shards are told
//   going on <---------------------------------------------------- on hold ---all have answered---> answered
//       |                                                             ^
//       +------ newer request: replicas, or the parameter server -----+
//
// Of directives and requests the one with the highest sequence counts.

// Result outbox: what this process's actors found out, for the director: rows of the history,
// evaluations, hashes, values that are not finite. Kept and said again until a directive says that it arrived.

class result_outbox {
public:
  explicit result_outbox(node_context& context) : context_(context) {}

  void begin_term();

  void add(const training_report& news);
  void add(const evaluation& news);
  void add(const span_hash& news);
  void add(const not_finite_report& news);

  /// Rows up to this version have arrived.
  void forget_rows(uint64_t version);
  /// A directive goes on from this version: marks before it are of an earlier one.
  void forget_marks_before(uint64_t version);

  void tick(moment now);

private:
  template <class T>
  void tell(const T& news);

  node_context& context_;
  std::map<uint64_t, training_report> rows_; ///< by version
  std::map<uint64_t, training_report> marks_;
  std::map<std::pair<uint64_t, uint64_t>, evaluation> evaluations_; ///< by version and first chunk
  std::map<std::pair<uint64_t, uint64_t>, span_hash> hashes_;       ///< by version and first block
  std::optional<not_finite_report> not_finite_;
  repair_clock clock_;
};

class directive_state {
public:
  directive_state(node_context& context, const local_spans& spans, const local_actors& actors,
                  result_outbox& outbox)
    : context_(context), spans_(spans), actors_(actors), outbox_(outbox) {}

  void begin_term();

  void on_directive(const directive& news);
  void on_hold_request(const hold_request& news);
  /// A replica starts no step from `next_step` on.
  void on_held(uint64_t replica, uint64_t round, uint64_t next_step);

  /// Tells replicas and shards how far they may go, unless they are to hold.
  void pass_on() const;
  void pass_on_to(size_t replica) const;

  /// Nobody computes from this version on; nothing while nobody knows.
  std::optional<uint64_t> horizon_version() const;
  /// At which training ends, once that is known.
  std::optional<uint64_t> final_version() const;
  bool awaits_replicas() const { return hold_ && !answer_; }
  /// The director counts what was done, this often by now.
  uint64_t round() const { return round_; }

private:
  bool server_is_here() const { return context_.options.kept && !spans_.all().empty(); }
  uint64_t latest_sequence() const;
  void pass_on_to_shards() const;
  void ask_to_hold() const;
  bool awaits_held() const;
  void answer();

  node_context& context_;
  const local_spans& spans_;
  const local_actors& actors_;
  result_outbox& outbox_;
  std::optional<directive> directive_;
  std::optional<hold_request> hold_;  ///< until the next directive
  std::map<uint64_t, uint64_t> held_; ///< next step by local replica, of this hold
  std::optional<hold_answer> answer_;
  uint64_t round_ = 0;
};

/// How long a local actor may take to say what it has done or to hand over a version: it may be in
/// the middle of a long step, so this is far more than any step should take.
inline constexpr std::chrono::minutes local_answer_deadline{10};

class node_work {
public:
  node_work(node_context& context, local_spans& spans, local_actors& actors,
            directive_state& directives, result_outbox& outbox)
    : context_(context), spans_(spans), actors_(actors), directives_(directives), outbox_(outbox) {}
  virtual ~node_work() = default;
  node_work(const node_work&) = delete;
  node_work& operator=(const node_work&) = delete;

  // ---- The view ----

  /// A term begins with the context's view. Shards are told later, once their state is here.
  virtual void begin_term() { begin_replicas(); }
  /// A later view of the same term, and what was before it.
  virtual void on_view(const cluster_view& before, size_t me_before);
  /// The view does not name this process.
  virtual void rest() {}
  /// The newest version that is whole here; nothing where nobody gathers them.
  virtual std::optional<uint64_t> held() const { return std::nullopt; }

  // ---- The exchange ----

  virtual void on_arrived(const tensor_arrived&) {}
  /// Somebody misses something; what is kept of it is on its way.
  virtual void on_asked(const tensor_asked& news);
  /// A piece of this came, and told something new.
  virtual void on_accepted(const tensor_name&) {}
  /// A piece came whose bits differ from those that are here.
  virtual void on_conflict(const tensor_piece&) {}
  /// A piece came that nobody expects, or not yet.
  virtual void on_early(peer_id, const tensor_piece&) {}
  /// How far training goes is known anew.
  virtual void on_directive() {}
  virtual void tick(moment) {}
  /// What is late by itself. `horizon`: nobody computes from it on.
  virtual std::vector<awaited> waits(moment, std::optional<uint64_t> horizon) const;

  // ---- Local actors ----

  virtual void on_contribution(const contribution&) {}
  virtual void on_boundary(const boundary&) {}
  virtual void on_segment_request(const segment_request&) {}
  virtual void on_parameter_span(const parameter_span&) {}
  virtual void on_block_sums(const block_sums&) {}
  virtual void on_report(const training_report&) {}
  virtual void on_evaluation(const evaluation&) {}
  virtual void on_distant_order(const distant_order&) {}
  virtual void on_result(const trainer_result&) {}
  /// A replica is lost; false: the process cannot go on without it.
  virtual bool spare(size_t) { return false; }

  // ---- Headers of parameter servers and trainers elsewhere ----

  virtual void on_header(const order_header&) {}
  virtual void on_header(const result_header&) {}

protected:
  void begin_replicas();

  node_context& context_;
  local_spans& spans_;
  local_actors& actors_;
  directive_state& directives_;
  result_outbox& outbox_;
};

} // namespace troupe
