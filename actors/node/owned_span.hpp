// Owned span: carries to and from an owner of a span that follows a parameter server in another process
// (actors/spans/span_owner.hpp): its decisions, the vectors of tasks, their updates.
//
//   decisions == in order, each once ==> owner --given_vectors--> workers' processes
//   updates   == whole, and given    ==> owner
//                    +--------------------------------- progress ==> parameter server's process
//
// An update may come before the decision to give its task: then it is kept.

#pragma once

#include "actors/base/early_pieces.hpp"
#include "actors/node/local_actors.hpp"
#include "actors/spans/sequence_link.hpp"
#include "actors/tasks/work_queue.hpp"

#include <cstdint>
#include <map>
#include <set>

namespace troupe {

class owned_span {
public:
  owned_span(node_context& context, local_spans& spans, task_vectors& vectors)
    : context_(context), spans_(spans), vectors_(vectors) {}

  void begin_term();
  /// The owner has the state that it begins with: the parameter server's process sends decisions from now on.
  void on_started() { tell_progress(); }

  void on_sequence(const sequence_news& news, const task_bounds& bounds);
  void on_given(const given_vectors& news);
  /// The owner's part of a task's update, whole: from a wire, or from a trainer here.
  void on_arrived(uint64_t task);
  void put(uint64_t task, span_vectors update);
  /// A piece of a result that is not expected, or not yet.
  void on_early(peer_id from, const tensor_piece& news);
  void tick(moment now);

private:
  bool is_here() const { return context_.local.span_owner && !spans_.all().empty(); }
  void expect_update(const sequence_entry& task);
  /// No piece of this result will be needed.
  bool is_over(const tensor_name& result) const;
  void tell_progress();

  node_context& context_;
  local_spans& spans_;
  task_vectors& vectors_;
  sequence_inbox decisions_;
  std::set<uint64_t> given_;                       ///< tasks that are not decided
  std::set<uint64_t> whole_;                       ///< those of them whose updates are here
  std::map<uint64_t, span_vectors> early_updates_; ///< of tasks that are not given yet
  early_pieces early_;                             ///< of their results
  uint64_t last_given_ = 0;
  uint64_t told_ = 0; ///< position that the parameter server's process was told
  repair_clock clock_;
};

} // namespace troupe
