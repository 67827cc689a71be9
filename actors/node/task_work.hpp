// Task work: carries a parameter server's tasks to trainers of other processes, and their results back
// (actors/tasks/task_queue.hpp). The nodes at both ends use it.
//
// Where other processes own spans of the parameters it carries the parameter server's decisions to them
// (actors/spans/sequence_link.hpp), and their spans of all vectors (actors/spans/task_vectors.hpp). Then tasks to
// trainers of the parameter server's own process take the same way: their vectors come from several owners.

#pragma once

#include "actors/base/early_pieces.hpp"
#include "actors/node/node_work.hpp"
#include "actors/node/owned_span.hpp"
#include "actors/tasks/task_queue.hpp"

#include <optional>
#include <set>
#include <string>
#include <vector>

namespace troupe {

class task_work : public node_work {
public:
  task_work(node_context& context, local_spans& spans, local_actors& actors,
            directive_state& directives, result_outbox& outbox)
    : node_work(context, spans, actors, directives, outbox),
      vectors_(context.exchange),
      owned_(context, spans, vectors_),
      tasks_(vectors_),
      work_(context.exchange, {context.options.parameters, {0, context.element_count()}}) {}

  void begin_term() override;
  void on_view(const cluster_view& before, size_t me_before) override;
  void rest() override { begin_tasks(); }

  void on_arrived(const tensor_arrived& news) override;
  void on_accepted(const tensor_name& what) override;
  void on_early(peer_id from, const tensor_piece& news) override;
  void on_started() override { owned_.on_started(); }
  void tick(moment now) override;
  std::vector<awaited> waits(moment now, std::optional<uint64_t> horizon) const override;

  void on_report(const training_report& news) override;
  void on_evaluation(const evaluation& news) override { send(work_.finish(news)); }
  void on_distant_task(const distant_task& task) override;
  void on_result(const trainer_result& news) override;
  bool spare(size_t replica) override;

  void on_header(const task_header& news) override;
  void on_header(const result_header& news) override;

  void on_sequence(const sequence_news& news) override;
  void on_progress(const span_progress& news) override;
  void on_given(const given_vectors& news) override { owned_.on_given(news); }

private:
  void begin_tasks();
  /// To that process's node, which may be this one.
  void tell(const std::string& process, const task_header& news);
  void send_decisions();
  /// Spawns distant trainers that a new view names, ends those that it does not name.
  void meet_distant_trainers();
  void forget_tasks_of_the_lost();
  void lose_distant_trainer(const trainer_life& who);
  const std::string& server_process() const;
  void deliver(const std::optional<task_queue::finished_task>& task) const;
  void give(const std::vector<work_queue::whole_task>& tasks) const;
  void send(const std::optional<result_header>& header);

  task_vectors vectors_; ///< of this process's span
  owned_span owned_;     ///< that, if the parameter server is elsewhere
  task_queue tasks_;     ///< to trainers of other processes
  work_queue work_;      ///< to trainers of this process
  sequence_outbox decisions_;
  early_pieces early_;                   ///< of these
  std::set<trainer_life> lost_trainers_; ///< lost, although their processes go on
};

} // namespace troupe
