// Node: one in each process of a run. It stands between the replicas and shards of its process and
// everybody else, and computes nothing.
//
//                          +------------- node: views, links -------------+
//   director == views, ==> | directive_state how far this process may go  | ==> local replicas
//            <= answers == | result_outbox   rows, evaluations            | <== and shards
//            <= reports == | process_report  what the process does        |
//                          | local_spans     state to begin with, copies  |
//   other    == pieces, => | exchange        all vectors on wires         |
//   nodes    <= wants   == | node_work       synchronous | orders | alone |
//                          +----------------------------------------------+
//
//                 term begins              state is here, shards told
//   no view yet ---------------> restoring --------------------------> taking part
//        ^                           ^                                   |     |
//        | turned away, or a view    |          a higher term            |     |
//        | without this process      +-----------------------------------+     |
//        +---------------------------------------------------------------------+
//
// Its parts look at one context (node_context.hpp), which only the node itself writes. Repair is asking:
// who misses something for 200 ms asks whoever has it (coordinators/exchange/tensor_exchange.hpp).

#pragma once

#include "actors/base/guard.hpp"
#include "actors/node/process_report.hpp"

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
  /// Quits: one of its own actors has ended.
  void lose(const std::string& what, std::ptrdiff_t index, const caf::error& reason);
  void on_tick();

  // ---- Views: from the cluster's to the process's ----
  void on_cluster_view(const cluster_view& news);
  void adopt(const cluster_view& news);
  /// True when this life of the process is in the view.
  bool names_me(const cluster_view& x) const;
  view_limits limits_here() const;
  void begin_term();
  /// Once everything is here that they begin with.
  void start_shards();
  void rest();

  // What comes and goes by the exchange.
  void on_piece(const sent_piece& news);
  void on_want(const sent_want& news);
  void on_arrived(const tensor_arrived& news);
  void on_asked(const tensor_asked& news);
  /// Sends what the exchange wants sent; after each message that may have led to something.
  void settle();

  /// What looks at the context.
  struct parts {
    explicit parts(node_context& context);
    local_spans spans;
    local_actors actors;
    result_outbox outbox;
    directive_state directives;
    std::unique_ptr<node_work> work;
    process_report report;
  };
  node_context context_;
  std::unique_ptr<parts> parts_;
};

local_node_actor::behavior_type node(self_pointer<local_node_actor, node_state> self,
                                     const node_options& options, const local_company& local);

} // namespace troupe
