// Node work: what a node carries for the actors of its process, apart from views and directives.
// This class serves a run in one process, where replicas and shards exchange pointers: it only
// hands versions to the director. Subclasses serve synchronous training over wires
// (synchronous_work.hpp), and a parameter server with its trainers (task_work.hpp).

#pragma once

#include "actors/node/directive_state.hpp"
#include "actors/node/local_actors.hpp"
#include "actors/node/node_context.hpp"
#include "actors/node/result_outbox.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace troupe {

/// How long a local actor may take to report its figures or to hand over a version. It may be in
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

  /// A term begins with the context's view. Shards get the view later, once their state is here.
  virtual void begin_term() { begin_replicas(); }
  /// The context has a later view of the same term. The arguments are the view before it, and this
  /// process's place in that.
  virtual void on_view(const cluster_view& before, size_t me_before);
  /// The shards here have the state that they begin the term with.
  virtual void on_started() {}
  /// The view does not name this process.
  virtual void rest() {}
  /// The newest version that is whole here; nothing where the process gathers none.
  virtual std::optional<uint64_t> held() const { return std::nullopt; }

  // ---- The exchange ----

  virtual void on_arrived(const tensor_arrived&) {}
  /// A peer asks for a tensor. The exchange sends the elements that it keeps.
  virtual void on_asked(const tensor_asked& news);
  /// A piece of this tensor came and was new.
  virtual void on_accepted(const tensor_name&) {}
  /// A piece came whose bits differ from those that are here.
  virtual void on_conflict(const tensor_piece&) {}
  /// A piece came that is not expected, or not yet.
  virtual void on_early(peer_id, const tensor_piece&) {}
  /// A new directive has come.
  virtual void on_directive() {}
  virtual void tick(moment) {}
  /// The waits of this process. `horizon`: no replica computes from it on.
  virtual std::vector<awaited> waits(moment, std::optional<uint64_t> horizon) const;

  // ---- Local actors ----

  virtual void on_contribution(const contribution&) {}
  virtual void on_boundary(const boundary&) {}
  virtual void on_segment_request(const segment_request&) {}
  virtual void on_parameter_span(const parameter_span&) {}
  virtual void on_block_sums(const block_sums&) {}
  virtual void on_report(const training_report&) {}
  virtual void on_evaluation(const evaluation&) {}
  virtual void on_distant_task(const distant_task&) {}
  virtual void on_result(const trainer_result&) {}
  virtual void on_given(const given_vectors&) {}
  /// A replica is lost; false: the process cannot go on without it.
  virtual bool spare(size_t) { return false; }

  // ---- Headers, decisions and progress of other processes ----

  virtual void on_header(const task_header&) {}
  virtual void on_header(const result_header&) {}
  virtual void on_sequence(const sequence_news&) {}
  virtual void on_progress(const span_progress&) {}

protected:
  void begin_replicas();

  node_context& context_;
  local_spans& spans_;
  local_actors& actors_;
  directive_state& directives_;
  result_outbox& outbox_;
};

} // namespace troupe
