// Work queue: the tasks that another process's parameter server gave to trainers of this process. A plain object: the
// node beside the trainers feeds it.
//
//   header ---> its vectors ---> whole: to the trainer ---> its result: kept, header and vectors go out
//                                                             |  ^ the task's header comes again:
//                                                             +--+ so does the result's
//
// For a trainer that has ended, the queue answers every old and new task with an `is_lost` header.
//
// The tasks of one trainer begin in the order of their numbers, whichever is whole first. The parameter server relies
// on it: a trainer that has answered a task has carried out all earlier ones. A link keeps the order of headers; a
// lost link also voids its tasks.
//
// A trainer may still work on a task of an earlier term, and numbers begin anew with each term. So each task gets a
// ticket that is unique in this process; the queue ignores results with an old ticket.
//
// The queue keeps a result until the parameter server's process has it: each task header lists the missing results. A
// repeated task is never computed again.

#pragma once

#include "actors/protocol/task_messages.hpp"
#include "actors/spans/task_vectors.hpp"
#include "coordinators/step/timeline.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace troupe {

/// Bounds of a run's tasks.
struct task_bounds {
  timeline plan; ///< as many slices as members
  evaluation_rows rows;
  size_t slot_count = 0;  ///< of a member's optimizer state
  size_t cohort_max = 0;  ///< clients of a round; 0: the run has none
  bool own_start = false; ///< members begin with models of their own
};

/// False for a header that no parameter server of this run sends. Such a header names missing rows or members, more
/// steps than an epoch has, or other vectors than its work needs. Headers come over a wire: a trainer that obeyed this
/// one would read beyond the data, or for ever.
bool is_possible(const task_header& news, const task_bounds& bounds);

/// Likewise for an entry of the decisions.
bool is_possible(const sequence_entry& news, const task_bounds& bounds);

/// Who owns which elements.
struct span_owners {
  std::vector<tensor_source> others; ///< in other processes
  vector_buffers here;               ///< the owner of this process; no elements: there is none
};

class work_queue {
public:
  /// `buffers`: for the vectors of tasks, of all elements.
  work_queue(exchange_port& exchange, vector_buffers buffers)
    : exchange_(exchange), buffers_(std::move(buffers)) {}

  /// A term begins: all tasks are void. The exchange must have forgotten their vectors.
  void begin_term(uint64_t term, span_owners owners = {});

  /// Takes a task's header. Returns the result's header if the task is finished (that header was lost or is late),
  /// or if its trainer has ended.
  std::optional<result_header> offer(const task_header& news, moment now);

  /// A task that its trainer can begin now.
  struct whole_task {
    task_header header;
    uint64_t ticket = 0; ///< what its trainer knows it by
    const_buffer parameters;
    optimizer_state state; ///< the member's
  };
  /// Call it when all vectors of a task, or the model of this number, have come; returns the tasks that can begin now.
  std::vector<whole_task> begin(tensor_kind kind, uint64_t key);
  /// The whole tasks of this trainer, up to the first that is not: call it when a header has come, too.
  std::vector<whole_task> begin_whole(uint64_t replica);
  /// The vectors of a task, or a model, that is over: no task will need it.
  bool is_over(const tensor_name& name) const;

  struct finished_work {
    uint64_t task = 0;
    result_header header;
    span_vectors own{}; ///< the part of this process's owner, if there is one
  };
  /// Takes a local trainer's result: the other owners get their parts. Nothing if the parameter server does not miss it.
  std::optional<finished_work> finish(const trainer_result& news, moment now);
  std::optional<result_header> finish(const evaluation& news);

  /// A local trainer has ended: returns `is_lost` headers for its tasks without a result. `offer` answers its later
  /// tasks at once.
  std::vector<result_header> lose(uint64_t replica);

private:
  struct task_in_work {
    task_header header;
    std::optional<arriving_vectors> vectors{}; ///< until it is begun; nothing: it has none
    uint64_t ticket = 0;                       ///< once it is begun
    std::optional<result_header> result{};
  };
  using place = std::map<uint64_t, task_in_work>::iterator;

  place find_task(uint64_t task);
  bool is_whole(const task_in_work& x) const;
  arriving_vectors arriving(tensor_kind kind, uint64_t key, size_t count, moment now) {
    return {exchange_, kind, key, count, owners_.others, buffers_, now, owners_.here.elements};
  }
  result_header end_without_result(uint64_t number, task_in_work& x, bool is_lost);
  void forget_all_but(const std::vector<uint64_t>& open, uint64_t last);
  /// Those that no task begins with are forgotten, but for the newest if it is whole.
  void forget_models();

  exchange_port& exchange_;
  vector_buffers buffers_;
  span_owners owners_;
  uint64_t term_ = 0;
  std::map<uint64_t, task_in_work> tasks_;      ///< by number
  std::set<uint64_t> lost_;                     ///< trainers
  std::map<uint64_t, arriving_vectors> models_; ///< by number
  uint64_t newest_ = 0;                         ///< the newest task that a header named
  uint64_t newest_task_ = 0;                    ///< of all headers
  uint64_t last_ticket_ = 0;                    ///< of all terms
};

} // namespace troupe
