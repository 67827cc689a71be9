// Task queue: the tasks that a parameter server gave to trainers of other processes, until their results arrive. A
// plain object: the node beside the parameter server feeds it.
//
//   open ---> header and vectors go out ---> result's header and vectors, in any order ---> to the parameter server
//     |         ^    | nothing comes: the header again
//     |         +----+
//     +-- the trainer is lost: the task is forgotten, and its late answers are ignored. Either the
//         view no longer names its process, or the process goes on and sends an `is_lost` header
//
// So the parameter server gets at most one result of each task, and none of a lost trainer's: once its header is here,
// and its vectors are, with every owner of a span (task_vectors.hpp).

#pragma once

#include "actors/protocol/task_messages.hpp"
#include "actors/spans/task_vectors.hpp"
#include "coordinators/exchange/repair_clock.hpp"
#include "coordinators/step/timeline.hpp"

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace troupe {

/// A task is late when nothing of it has come for this long, and for three times its trainer's usual time. So neither
/// a slow trainer nor a short delay of the link makes a task late. Other waits are reported to people after the same
/// time (coordinators/run/waits.hpp).
inline constexpr milliseconds task_patience_min{2'000};
inline constexpr int task_patience_factor = 3;

class task_queue {
public:
  /// `vectors`: of the parameter server's own span.
  explicit task_queue(task_vectors& vectors) : vectors_(vectors) {}

  /// A term begins: numbers start again. `owners`: those of spans in other processes, by index in the view.
  void begin_term(uint64_t term, std::map<uint64_t, std::string> owners);

  /// Adds a task and returns its header. `is_here`: for a trainer of this process.
  task_header open(const distant_task& task, bool is_here, moment now);

  /// A trainer's result, and the parameter server to send it to.
  struct finished_task {
    server_actor server;
    trainer_result result;
  };
  /// Takes a result's header; returns the result if it is whole now. Evaluations return nothing: their sums go to the
  /// director. `own`: the own span's part of it, of a trainer of this process.
  std::optional<finished_task> offer(const result_header& news, moment now, span_vectors own = {});
  /// Another owner has these tasks' results; returns those that are whole now.
  std::vector<finished_task> on_progress(const span_progress& news, moment now);
  /// The task's result does not count any more: its header alone is whole, and says so when it is sent again. Its
  /// trainer may have it in hand still.
  std::optional<finished_task> drop(uint64_t task);
  /// Call it when all vectors of a task's result have come to the own span.
  std::optional<finished_task> finish(uint64_t task);
  /// Call it when values of a task's result have come.
  void hear(uint64_t task, moment now);

  /// The lost trainer of a header with `is_lost`; nothing for a header of no open task.
  std::optional<trainer_life> lost_by(const result_header& news) const;

  /// Drops the tasks of trainers that are gone.
  void keep_if(const std::function<bool(const trainer_life&)>& is_here);

  /// Headers to send again, because nothing of their tasks has come for long.
  std::vector<std::pair<std::string, task_header>> due(moment now);

  /// The late tasks: the process that owes each result, and what it is.
  std::vector<awaited> waits(moment now) const;

private:
  struct open_task {
    distant_task task;
    task_header header;
    std::optional<result_header> result{};
    span_vectors own{};            ///< the own span's part of the result, if it did not travel
    std::set<uint64_t> whole_at{}; ///< other owners that have theirs
    repair_clock clock{};
    moment opened{};
    moment heard{}; ///< when something new of it came; at first, when it was opened
  };
  using place = std::map<uint64_t, open_task>::iterator;

  /// The task's header with the numbers of all open tasks.
  task_header current(const open_task& x) const;
  /// The result, if all owners have it.
  std::optional<finished_task> finish(place found);
  bool is_whole(const open_task& x) const;
  place find_task(uint64_t task);
  bool is_late(const open_task& x, moment now) const;

  task_vectors& vectors_;
  uint64_t term_ = 0;
  std::map<uint64_t, std::string> owners_; ///< processes of the other owners, by index in the view
  std::map<uint64_t, open_task> open_;     ///< by number
  std::map<std::string, uint64_t> newest_; ///< number, by process
  /// By trainer: the longest time from a task to its result's header. It fades.
  std::map<trainer_life, moment::duration> usual_;
  uint64_t last_number_ = 0;
};

} // namespace troupe
