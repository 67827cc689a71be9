// Directive state: how far this process may go, by the director's word, and the request to hold.
//
//              newer directive: replicas and shards are told
//   going on <---------------------------------------------------- on hold ---all have answered---> answered
//       |                                                             ^
//       +------ newer request: replicas, or the parameter server -----+
//
// Of directives and requests the one with the highest sequence counts.

#pragma once

#include "actors/node/local_actors.hpp"
#include "actors/node/node_context.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <utility>

namespace troupe {

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

} // namespace troupe
