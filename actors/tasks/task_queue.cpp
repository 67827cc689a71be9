#include "actors/tasks/task_queue.hpp"

#include <algorithm>

namespace troupe {

namespace {

/// The key of a task's vectors: the task; of evaluations none is on a wire.
uint64_t key_of(const task_header& x) {
  return x.evaluates ? evaluation_of(x.number) : x.task;
}

task_vectors::task vectors_of(const distant_task& task, const task_header& header, bool is_here) {
  task_vectors::task result{.number = key_of(header),
                            .process = task.who.process,
                            .incarnation = task.who.incarnation,
                            .is_here = is_here,
                            .model = header.model,
                            .vectors = {}};
  result.vectors.values = task.work ? task.work->parameters : task.evaluation->model.values;
  if (task.work)
    result.vectors.state = task.work->state;
  return result;
}

task_header header_of(const distant_task& task) {
  task_header result;
  result.replica = task.who.replica;
  if (const auto& work = task.work) {
    result.task = work->number;
    result.kind = work->kind;
    result.vector_count = work->state.slot_count() + (work->model ? 0 : 1);
    result.trainer = work->trainer;
    result.member = work->member;
    result.first_step = work->first_step;
    result.step_count = work->step_count;
    result.chunks = work->positions;
    result.attempt = work->attempt;
    result.model = work->model;
  } else {
    result.evaluates = true;
    result.first_step = task.evaluation->version;
    result.chunks = task.evaluation->chunks;
    result.model = task.evaluation->model.number;
  }
  return result;
}

std::string in_words(const task_header& x) {
  if (x.evaluates)
    return "the evaluation of version " + std::to_string(x.first_step);
  const auto step = std::to_string(x.first_step);
  if (x.kind == task_kind::clients)
    return "clients of round " + std::to_string(x.first_step + 1);
  return x.kind == task_kind::gradient
           ? "the gradient of step " + step
           : "the model of member " + std::to_string(x.member) + " from step " + step + " on";
}

} // namespace

void task_queue::begin_term(uint64_t term, std::map<uint64_t, std::string> owners) {
  term_ = term;
  owners_ = std::move(owners);
  open_.clear();
  newest_.clear();
  usual_.clear();
  last_number_ = 0;
}

task_header task_queue::open(const distant_task& task, bool is_here, moment now) {
  const auto number = ++last_number_;
  auto& x = open_[number];
  x.task = task;
  x.header = header_of(task);
  x.header.term = term_;
  x.header.number = number;
  x.clock.restart(now);
  x.opened = x.heard = now;
  newest_[task.who.process] = number;
  vectors_.open(vectors_of(task, x.header, is_here), now);
  if (const auto count = result_vector_count(x.header); count > 0 && !is_here)
    vectors_.expect(key_of(x.header), count, std::nullopt, now);
  return current(x);
}

task_header task_queue::current(const open_task& x) const {
  auto result = x.header;
  for (const auto& [number, other] : open_)
    if (other.task.who.process == x.task.who.process)
      result.open.push_back(number);
  result.last = newest_.at(x.task.who.process);
  return result;
}

std::optional<task_queue::finished_task> task_queue::offer(const result_header& news, moment now,
                                                           span_vectors own) {
  const auto found = open_.find(news.number);
  if (news.term != term_ || found == open_.end() || found->second.result || news.is_lost)
    return std::nullopt;
  auto& x = found->second;
  const auto expected = news.finite ? result_vector_count(x.header) : 0;
  if (x.header.kind == task_kind::clients && !x.header.is_dropped &&
      news.clients.size() != x.header.chunks.size())
    return std::nullopt;
  if (news.vector_count != expected)
    return std::nullopt;
  x.result = news;
  x.heard = now;
  // The longest time fades by a tenth with each task: forty tasks forget one long absence.
  auto& usual = usual_[x.task.who];
  usual = std::max(moment::duration{now - x.opened}, usual - usual / 10);
  x.own = std::move(own);
  if (expected == 0)
    vectors_.expect_none(key_of(x.header));
  else if (!x.own.values)
    vectors_.expect_from(key_of(x.header), x.task.who.process);
  return finish(found);
}

task_queue::place task_queue::find_task(uint64_t task) {
  return std::ranges::find_if(open_, [=](const auto& entry) {
    return !entry.second.header.evaluates && entry.second.header.task == task;
  });
}

void task_queue::hear(uint64_t task, moment now) {
  if (const auto found = find_task(task); found != open_.end())
    found->second.heard = now;
}

std::optional<task_queue::finished_task> task_queue::finish(uint64_t task) {
  const auto found = find_task(task);
  if (found == open_.end() || !vectors_.set_whole(task))
    return std::nullopt;
  return finish(found);
}

std::vector<task_queue::finished_task> task_queue::on_progress(const span_progress& news,
                                                               moment now) {
  std::vector<finished_task> result;
  if (news.term != term_ || !owners_.contains(news.shard))
    return result;
  for (const auto task : news.whole) {
    const auto found = find_task(task);
    if (found == open_.end() || !found->second.whole_at.insert(news.shard).second)
      continue;
    found->second.heard = now;
    if (auto whole = finish(found))
      result.push_back(*std::move(whole));
  }
  return result;
}

std::optional<task_queue::finished_task> task_queue::drop(uint64_t task) {
  for (auto& [number, x] : open_) // of an evaluation each share
    if ((x.header.evaluates ? evaluation_of(x.header.first_step) : x.header.task) == task)
      x.header.is_dropped = true;
  const auto found = find_task(task);
  return found == open_.end() ? std::nullopt : finish(found);
}

bool task_queue::is_whole(const open_task& x) const {
  if (!x.result || x.header.is_dropped)
    return x.result.has_value();
  return vectors_.is_whole(key_of(x.header)) &&
         (x.result->vector_count == 0 || x.whole_at.size() == owners_.size());
}

std::optional<task_queue::finished_task> task_queue::finish(place found) {
  if (!is_whole(found->second))
    return std::nullopt;
  const auto x = std::move(found->second);
  open_.erase(found);
  const auto key = key_of(x.header);
  const auto [values, state, is_model] = x.own.values ? x.own : vectors_.result_of(key);
  vectors_.close(key);
  if (x.header.evaluates)
    return std::nullopt;
  const auto& work = *x.task.work;
  trainer_result result;
  result.trainer = work.trainer;
  result.ticket = work.ticket;
  result.member = work.member;
  result.first_step = work.first_step;
  result.sums = x.result->sums;
  result.finite = x.result->finite;
  result.clients = x.result->clients;
  result.computed = std::chrono::nanoseconds{x.result->computed_ns};
  if (x.result->vector_count > 0 && !x.header.is_dropped) {
    result.values = values;
    result.state = state;
  }
  return finished_task{work.server, std::move(result)};
}

std::optional<trainer_life> task_queue::lost_by(const result_header& news) const {
  const auto found = open_.find(news.number);
  if (!news.is_lost || news.term != term_ || found == open_.end())
    return std::nullopt;
  return found->second.task.who;
}

void task_queue::keep_if(const std::function<bool(const trainer_life&)>& is_here) {
  std::erase_if(open_, [&](const auto& entry) {
    const bool is_lost = !is_here(entry.second.task.who);
    if (is_lost)
      vectors_.close(key_of(entry.second.header));
    return is_lost;
  });
  std::erase_if(usual_, [&](const auto& entry) { return !is_here(entry.first); });
}

std::vector<std::pair<std::string, task_header>> task_queue::due(moment now) {
  std::vector<std::pair<std::string, task_header>> result;
  for (auto& [number, x] : open_)
    if (!x.result && x.clock.due(now))
      result.emplace_back(x.task.who.process, current(x));
  return result;
}

// An announced result need only travel, so the trainer's computing time does not count any more.
bool task_queue::is_late(const open_task& x, moment now) const {
  moment::duration patience = task_patience_min;
  if (const auto usual = usual_.find(x.task.who); !x.result && usual != usual_.end())
    patience = std::max(patience, task_patience_factor * usual->second);
  return now - x.heard >= patience;
}

std::vector<awaited> task_queue::waits(moment now) const {
  std::vector<awaited> result;
  for (const auto& [number, x] : open_) {
    if (!is_late(x, now))
      continue;
    const auto owner = std::ranges::find_if(
      owners_, [&x](const auto& entry) { return !x.whole_at.contains(entry.first); });
    const bool lacks_owner =
      x.result && vectors_.is_whole(key_of(x.header)) && owner != owners_.end();
    result.push_back({lacks_owner ? owner->second : x.task.who.process,
                      (x.result ? "values of " : "") + in_words(x.header)});
  }
  return result;
}

} // namespace troupe
