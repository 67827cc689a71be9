// Node: one in each process of a run. It connects the replicas and shards of its process with the
// director and other nodes, and computes nothing.
//
//                          +------------- node: views, links -------------+
//   director == views, ==> | directive_state how far this process may go  | ==> local replicas
//            <= answers == | result_outbox   rows, evaluations            | <== and shards
//            <= reports == | process_report  what the process does        |
//                          | local_spans     state to begin with          |
//                          | span_copies     for what others may lose     |
//   other    == pieces, => | exchange        all vectors on wires         |
//   nodes    <= wants   == | node_work       synchronous | tasks | alone |
//                          +----------------------------------------------+
//
//                 term begins              state is here, shards have it
//   no view yet ---------------> restoring --------------------------> taking part
//        ^                           ^                                   |     |
//        | turned away, or a view    |          a higher term            |     |
//        | without this process      +-----------------------------------+     |
//        +---------------------------------------------------------------------+
//
// Its parts share one context (node_context.hpp), which only the node itself writes. A node repairs
// losses by asking: when a tensor is missing for 200 ms it asks a process that has it
// (coordinators/exchange/tensor_exchange.hpp).

#pragma once

#include "actors/base/guard.hpp"
#include "actors/node/process_report.hpp"
#include "actors/node/span_copies.hpp"

#include <caf/stateful_actor.hpp>
#include <caf/typed_event_based_actor.hpp>

#include <memory>
#include <string>

namespace troupe {

class node_state {
public:
  explicit node_state(local_node_actor::pointer self) { context_.self = self; }

  local_node_actor::behavior_type make_behavior(const node_options& options,
                                                const local_company& local);

  static inline const char* name = "node";

private:
  void on_director(uint64_t incarnation, const director_link_actor& director);
  void on_peer(const std::string& name, uint64_t incarnation, const node_actor& peer);
  void on_down(const caf::down_msg& news);
  /// Quits, because one of its own actors has ended.
  void lose(const std::string& what, std::ptrdiff_t index, const caf::error& reason);
  void on_tick();

  // ---- Views: from the cluster's to the process's ----
  void on_cluster_view(const cluster_view& news);
  void on_given_up(uint64_t incarnation);
  void on_leave();
  void end_leave(bool is_let_go) const;
  void adopt(const cluster_view& news);
  /// True if the view names this life of the process.
  bool names_me(const cluster_view& x) const;
  view_limits limits_here() const;
  void begin_term();
  /// Starts the shards once all their state is here.
  void start_shards();
  void rest();

  // ---- The exchange ----
  void on_piece(const sent_piece& news);
  void on_want(const sent_want& news);
  void on_arrived(const tensor_arrived& news);
  void on_asked(const tensor_asked& news);
  /// Carries out the effects of the exchange. Call it after each message that may have caused some.
  void settle();

  /// The parts that share the context.
  struct parts {
    explicit parts(node_context& context);
    local_spans spans;
    span_copies copies;
    local_actors actors;
    result_outbox outbox;
    directive_state directives;
    std::unique_ptr<node_work> work;
    process_report report;
  };
  node_context context_;
  std::unique_ptr<parts> parts_;
  moment leaves_since_{}; ///< it asks to leave, and has no link with the director
};

local_node_actor::behavior_type node(self_pointer<local_node_actor, node_state> self,
                                     const node_options& options, const local_company& local);

} // namespace troupe
