// Actors that a test plays beside those under test. Everything they hear is written down.

#pragma once

#include "actors/protocol/boundary_messages.hpp"
#include "actors/protocol/interfaces.hpp"
#include "actors/protocol/task_messages.hpp"
#include "actors/protocol/tensor_messages.hpp"

#include <vector>

namespace troupe::test {

/// What one neighbour heard, kind by kind.
struct heard {
  std::vector<training_report> reports{};
  std::vector<not_finite_report> not_finite{};
  std::vector<evaluation> evaluations{};
  std::vector<span_hash> hashes{};
  std::vector<node_report> nodes{};
  std::vector<sent_piece> pieces{};
  std::vector<sent_want> wants{};
  std::vector<sent_credit> credits{};
  std::vector<sent_stamp> stamps{}; ///< alone
  std::vector<shard_numbers> numbers{};
  std::vector<hold_answer> holds{};
  trainer_figures figures{}; ///< what the shard says of everybody
  std::vector<block_sums> norms{};
  std::vector<task_header> orders{};
  std::vector<result_header> results{};
  std::vector<sequence_news> decisions{};
  std::vector<span_progress> progress{};
  std::vector<view> views{};
  std::vector<contribution> contributions{};
  std::vector<parameter_span> spans{};
  std::vector<horizon> horizons{};
  std::vector<shard_start> starts{};
  std::vector<summation> summations{};
  std::vector<uint64_t> rounds{};      ///< of holds
  std::vector<uint64_t> first_steps{}; ///< not begun, of those that hold
  std::vector<shard_copy> copies{};
  std::vector<uint64_t> saved{}; ///< versions of which all deputies have a copy
};

template <class T>
auto note(std::vector<T>& where) {
  return [&where](const T& news) { where.push_back(news); };
}

inline director_link_actor::behavior_type played_director(director_link_actor::pointer,
                                                          heard* notes) {
  return {note(notes->pieces),  note(notes->wants),      note(notes->credits),
          note(notes->stamps),  note(notes->reports),    note(notes->evaluations),
          note(notes->hashes),  note(notes->not_finite), note(notes->nodes),
          note(notes->numbers), note(notes->holds)};
}

inline node_actor::behavior_type played_peer(node_actor::pointer, heard* notes) {
  return {note(notes->pieces),     note(notes->wants),         note(notes->credits),
          note(notes->stamps),     [](const cluster_view&) {}, [](const given_up&) {},
          [](const directive&) {}, [](const hold_request&) {}, [](const copies_request&) {},
          note(notes->numbers),    note(notes->orders),        note(notes->results),
          note(notes->decisions),  note(notes->progress)};
}

inline replica_actor::behavior_type played_replica(replica_actor::pointer, heard* notes) {
  return {note(notes->views),
          note(notes->spans),
          note(notes->horizons),
          [=](atom::hold, uint64_t round) { notes->rounds.push_back(round); },
          note(notes->summations),
          [](const boundary&) {},
          [](const segment_parameters&) {},
          [](atom::tick) {},
          [](atom::status) {
            return replica_status{4, 5, 6};
          }};
}

inline shard_actor::behavior_type played_shard(shard_actor::pointer, heard* notes) {
  return {note(notes->views),
          note(notes->contributions),
          note(notes->norms),
          note(notes->starts),
          note(notes->horizons),
          [](atom::pull, uint64_t) -> caf::result<parameter_span> {
            return caf::make_error(protocol_error::version_not_held);
          },
          [=](atom::figures) { return notes->figures; },
          [=](atom::save, uint64_t version) { notes->saved.push_back(version); }};
}

inline relay_actor::behavior_type played_relay(relay_actor::pointer, heard* notes) {
  return {note(notes->contributions),
          [](const boundary&) {},
          [](const segment_request&) {},
          note(notes->spans),
          [](const block_sums&) {},
          [=](atom::held, uint64_t, uint64_t, uint64_t next_step) {
            notes->first_steps.push_back(next_step);
          },
          note(notes->copies),
          note(notes->decisions),
          [](const given_vectors&) {}};
}

inline reports_actor::behavior_type played_reports(reports_actor::pointer, heard* notes) {
  return {note(notes->reports), note(notes->evaluations), note(notes->hashes),
          note(notes->not_finite)};
}

} // namespace troupe::test
