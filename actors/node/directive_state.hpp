// Directive state: the director's newest directive (how far this process may go) or request to
// hold.
//
//              newer directive: replicas and shards get it
//   going on <---------------------------------------------------- on hold ---all have answered---> answered
//       |                                                             ^
//       +------ newer request: replicas, or the parameter server -----+
//
// The directive or request with the highest sequence counts.

#pragma once

#include "actors/node/local_actors.hpp"
#include "actors/node/result_outbox.hpp"

#include <cstdint>
#include <map>
#include <optional>

namespace troupe {

class directive_state {
public:
  directive_state(node_context& context, const local_spans& spans, const local_actors& actors,
                  result_outbox& outbox)
    : context_(context), spans_(spans), actors_(actors), outbox_(outbox) {}

  void begin_term();

  void on_directive(const directive& news);
  void on_hold_request(const hold_request& news);
  /// A replica's answer to a hold: it starts no step from `next_step` on.
  void on_held(uint64_t replica, uint64_t round, uint64_t next_step);

  /// Sends replicas and shards the horizon, unless they must hold.
  void pass_on() const;
  void pass_on_to(size_t replica) const;

  /// The horizon: no replica computes from this version on; nothing while it is unknown.
  std::optional<uint64_t> horizon_version() const;
  /// The version at which training ends, once it is known.
  std::optional<uint64_t> final_version() const;
  bool awaits_replicas() const { return hold_ && !answer_; }
  /// The number of the director's last request for figures.
  uint64_t round() const { return round_; }

private:
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
