#include "actors/node/task_work.hpp"

#include <caf/actor_cast.hpp>

#include <algorithm>

namespace troupe {

namespace {

task_bounds bounds_of(const node_options& options) {
  return {options.plan, options.rows, options.tasks.slot_count, options.tasks.cohort_max,
          options.tasks.own_start};
}

void end(const node_context& context, const task_taker_actor& distant) {
  context.self->send_exit(distant, caf::exit_reason::user_shutdown);
}

} // namespace

void task_work::begin_term() {
  begin_tasks();
  meet_distant_trainers();
  begin_replicas();
}

void task_work::on_view(const cluster_view& before, size_t me_before) {
  meet_distant_trainers();
  node_work::on_view(before, me_before);
}

// A parameter server begins anew with a term, and so do the numbers of its tasks.
void task_work::begin_tasks() {
  for (const auto& [who, actor] : context_.distant)
    end(context_, actor);
  context_.distant.clear();
  const auto term = context_.view.id.term;
  const auto count = context_.element_count();
  span_owners owners;
  std::map<uint64_t, std::string> processes;
  std::vector<std::string> names;
  for (size_t k = 0; k < context_.view.shards.size(); ++k) {
    const auto& place = context_.view.shards[k];
    const auto elements = context_.span_of(place);
    if (elements.empty())
      continue;
    if (context_.is_mine(place)) {
      owners.here.elements = elements;
      continue;
    }
    const auto& process = context_.owner_of(place);
    owners.others.push_back({context_.exchange.id_of(process), elements});
    processes[k] = process;
    names.push_back(process);
  }
  const auto size = owners.here.elements.size();
  owners.here.pool =
    size == count ? context_.options.parameters : std::make_shared<buffer_pool>(size);
  vectors_.begin_term(term, owners.here);
  tasks_.begin_term(term, processes);
  work_.begin_term(term, std::move(owners));
  decisions_.begin_term(context_.local.server ? names : std::vector<std::string>{});
  owned_.begin_term();
}

void task_work::meet_distant_trainers() {
  if (!context_.has_server())
    return;
  std::map<trainer_life, task_taker_actor> here;
  for (const auto& place : context_.view.replicas) {
    const auto who = context_.life_of(place);
    if (context_.takes_tasks_directly(place) || lost_trainers_.contains(who))
      continue;
    const auto known = context_.distant.find(who);
    here[who] = known != context_.distant.end() ? known->second
                                                : context_.options.stand_in(context_.self, who);
  }
  for (const auto& [who, actor] : context_.distant)
    if (!here.contains(who))
      end(context_, actor);
  context_.distant = std::move(here);
  forget_tasks_of_the_lost();
}

void task_work::forget_tasks_of_the_lost() {
  tasks_.keep_if([this](const trainer_life& who) { return context_.distant.contains(who); });
}

// The trainer's process goes on with its other trainers. The parameter server gets a down message
// as for any trainer.
void task_work::lose_distant_trainer(const trainer_life& who) {
  lost_trainers_.insert(who);
  if (const auto found = context_.distant.find(who); found != context_.distant.end())
    end(context_, found->second);
  context_.distant.erase(who);
  forget_tasks_of_the_lost();
}

const std::string& task_work::server_process() const {
  return context_.owner_of(context_.view.shards.front());
}

// The node learns a parameter server's versions only from its reports.
void task_work::on_report(const training_report& news) {
  for (auto& one : spans_.all())
    if (news.term == context_.view.id.term)
      one.version = std::max(one.version, news.version);
}

void task_work::on_distant_task(const distant_task& task) {
  // Else the trainer is lost: the parameter server will get its down message.
  if (!context_.distant.contains(task.who))
    return;
  const bool is_here = task.who.process == context_.options.self.name;
  tell(task.who.process, tasks_.open(task, is_here, context_.now()));
}

void task_work::tell(const std::string& process, const task_header& news) {
  process == context_.options.self.name ? on_header(news) : context_.tell(process, news);
}

// ---- Owners of spans in several processes ----

// Of this process's parameter server, or of another one's.
void task_work::on_sequence(const sequence_news& news) {
  if (!context_.takes_part() || news.term != context_.view.id.term)
    return;
  if (context_.local.server) {
    decisions_.add(news.entries);
    send_decisions();
    for (const auto& entry : news.entries)
      if (entry.kind == entry_kind::drop)
        deliver(tasks_.drop(entry.number));
    return;
  }
  owned_.on_sequence(news, bounds_of(context_.options));
}

void task_work::send_decisions() {
  for (auto& [to, entries] : decisions_.due(context_.now()))
    context_.tell(to, sequence_news{context_.view.id.term, std::move(entries)});
}

void task_work::on_progress(const span_progress& news) {
  if (!context_.takes_part() || !context_.has_server() || news.term != context_.view.id.term ||
      news.shard >= context_.view.shards.size())
    return;
  const auto now = context_.now();
  decisions_.on_progress(context_.owner_of(context_.view.shards[news.shard]), news.position, now);
  send_decisions();
  for (auto& one : tasks_.on_progress(news, now))
    deliver(std::move(one));
}

void task_work::on_header(const task_header& news) {
  if (context_.takes_part() && news.replica < context_.local.trainers.size() &&
      is_possible(news, bounds_of(context_.options))) {
    send(work_.offer(news, context_.now()));
    early_.offer(context_.exchange, context_.now(),
                 [this](const tensor_name& name) { return work_.is_over(name); });
    give(work_.begin_whole(news.replica));
  }
}

// Pieces may overtake the header that they belong to.
void task_work::on_early(peer_id from, const tensor_piece& news) {
  if (news.of.kind == tensor_kind::result)
    owned_.on_early(from, news);
  else if ((news.of.kind == tensor_kind::task || news.of.kind == tensor_kind::model) &&
           !work_.is_over(news.of))
    early_.keep(from, news);
}

void task_work::on_header(const result_header& news) {
  if (const auto who = tasks_.lost_by(news))
    return lose_distant_trainer(*who);
  deliver(tasks_.offer(news, context_.now()));
}

void task_work::on_accepted(const tensor_name& what) {
  if (what.kind == tensor_kind::result)
    tasks_.hear(what.key, context_.now());
}

void task_work::on_arrived(const tensor_arrived& news) {
  if (!news.complete)
    return;
  if (news.of.kind != tensor_kind::result)
    return give(work_.begin(news.of.kind, news.of.key));
  if (context_.has_server())
    return deliver(tasks_.finish(news.of.key));
  owned_.on_arrived(news.of.key);
}

void task_work::deliver(const std::optional<task_queue::finished_task>& task) const {
  if (task)
    context_.self->send(task->server, task->result);
}

// The trainer answers to this node, which finds the task by its ticket.
void task_work::give(const std::vector<work_queue::whole_task>& tasks) const {
  for (const auto& [header, ticket, parameters, state] : tasks) {
    const auto to = context_.local.trainers[header.replica];
    if (header.evaluates)
      context_.self->send(to, evaluation_task{caf::actor_cast<reports_actor>(context_.self),
                                              header.term,
                                              header.first_step,
                                              {*header.model, parameters},
                                              header.chunks});
    else
      context_.self->send(
        to, trainer_task{header.kind, caf::actor_cast<server_actor>(context_.self), header.trainer,
                         ticket, header.task, header.member, header.first_step, header.step_count,
                         parameters, header.model, state, header.chunks, header.attempt});
  }
}

void task_work::on_result(const trainer_result& news) {
  if (!context_.takes_part())
    return;
  auto done = work_.finish(news, context_.now());
  if (!done)
    return;
  if (context_.has_server())
    return deliver(tasks_.offer(done->header, context_.now(), std::move(done->own)));
  if (done->own.values)
    owned_.put(done->task, std::move(done->own));
  context_.tell(server_process(), done->header);
}

void task_work::send(const std::optional<result_header>& header) {
  if (!header || !context_.takes_part())
    return;
  if (context_.has_server())
    on_header(*header);
  else
    context_.tell(server_process(), *header);
}

bool task_work::spare(size_t replica) {
  if (context_.lost_replicas.size() == context_.local.trainers.size())
    return false;
  for (const auto& header : work_.lose(replica))
    send(header);
  if (context_.has_server())
    lose_distant_trainer({context_.options.self.name, context_.options.self.incarnation, replica});
  return true;
}

void task_work::tick(moment now) {
  for (const auto& [to, header] : tasks_.due(now))
    tell(to, header);
  send_decisions();
  owned_.tick(now);
}

std::vector<awaited> task_work::waits(moment now, std::optional<uint64_t>) const {
  return tasks_.waits(now);
}

} // namespace troupe
