#include "actors/tasks/work_queue.hpp"

#include "models/privacy/secret_stream.hpp"

#include <algorithm>

namespace troupe {

namespace {

bool are_possible_steps(const task_header& x, const timeline& plan) {
  const auto last = plan.last_version();
  if (x.first_step >= last || x.step_count == 0)
    return false;
  const auto left_in_epoch = plan.steps_in_epoch() - x.first_step % plan.steps_in_epoch();
  return x.step_count <= left_in_epoch && x.step_count <= last - x.first_step;
}

} // namespace

bool is_possible(const task_header& x, const task_bounds& bounds) {
  const bool is_own = !x.evaluates && x.kind == task_kind::local_steps;
  const bool has_own_start = is_own && bounds.own_start;
  if (x.model.has_value() == has_own_start ||
      x.vector_count != (is_own ? bounds.slot_count + (has_own_start ? 1 : 0) : 0))
    return false;
  if (x.evaluates)
    return x.first_step <= bounds.plan.last_version() && x.chunks.begin < x.chunks.end &&
           x.chunks.end <= bounds.rows.chunk_count();
  if (x.kind == task_kind::clients)
    return x.step_count == 1 && x.first_step < bounds.plan.last_version() &&
           x.chunks.begin < x.chunks.end && x.chunks.end <= bounds.cohort_max &&
           x.attempt < secret_attempt_limit;
  return (is_own || x.step_count == 1) && x.member < bounds.plan.slice_count &&
         are_possible_steps(x, bounds.plan);
}

bool is_possible(const sequence_entry& x, const task_bounds& bounds) {
  const auto places = bounds.cohort_max > 0 ? bounds.cohort_max : bounds.plan.slice_count;
  return x.place < std::max<size_t>(places, 1) && x.update_count > 0 && x.step_scale > 0 &&
         x.step_scale <= 1 && x.version <= bounds.plan.last_version();
}

void work_queue::begin_term(uint64_t term, span_owners owners) {
  term_ = term;
  owners_ = std::move(owners);
  tasks_.clear();
  models_.clear();
  newest_ = newest_task_ = 0;
}

std::optional<result_header> work_queue::offer(const task_header& news, moment now) {
  if (news.term != term_)
    return std::nullopt;
  // A late header may name a task that is finished or void.
  if (news.last < newest_)
    return std::nullopt;
  newest_ = news.last;
  forget_all_but(news.open, news.last);
  const auto [found, is_new] = tasks_.try_emplace(news.number);
  auto& x = found->second;
  if (!is_new && (!news.is_dropped || x.ticket > 0 || x.result))
    return x.result;
  x.header = news;
  newest_task_ = std::max(newest_task_, news.task);
  const bool is_lost = lost_.contains(news.replica);
  if (is_lost || news.is_dropped)
    return end_without_result(news.number, x, is_lost);
  if (news.vector_count > 0)
    x.vectors.emplace(arriving(tensor_kind::task, news.task, news.vector_count, now));
  if (news.model && !models_.contains(*news.model))
    models_.emplace(*news.model, arriving(tensor_kind::model, *news.model, 1, now));
  forget_models();
  return std::nullopt;
}

void work_queue::forget_models() {
  std::erase_if(models_, [&](const auto& entry) {
    const auto& [number, model] = entry;
    const bool is_needed =
      (model.are_whole() && is_newest_model(models_, number)) ||
      std::ranges::any_of(tasks_, [&](const auto& x) {
        return x.second.ticket == 0 && !x.second.result && x.second.header.model == number;
      });
    if (!is_needed)
      exchange_->dismiss(tensor_kind::model, only_key(number));
    return !is_needed;
  });
}

bool work_queue::is_over(const tensor_name& name) const {
  if (name.term != term_)
    return name.term < term_;
  if (name.kind == tensor_kind::model)
    return !models_.contains(name.key) && !is_newest_model(models_, name.key);
  const auto found = std::ranges::find_if(
    tasks_, [&](const auto& entry) { return entry.second.header.task == name.key; });
  return found == tasks_.end() ? name.key <= newest_task_ : !found->second.vectors;
}

void work_queue::forget_all_but(const std::vector<uint64_t>& open, uint64_t last) {
  std::erase_if(tasks_, [&](const auto& entry) {
    const bool is_over = entry.first <= last && std::ranges::find(open, entry.first) == open.end();
    if (is_over) {
      exchange_->dismiss(tensor_kind::task, only_key(entry.second.header.task));
      exchange_->forget(tensor_kind::result, only_key(entry.second.header.task));
    }
    return is_over;
  });
}

std::vector<work_queue::whole_task> work_queue::begin(tensor_kind kind, uint64_t key) {
  std::set<uint64_t> replicas;
  if (const auto model = models_.find(key); kind == tensor_kind::model && model != models_.end()) {
    model->second.set_whole();
    for (const auto& [number, x] : tasks_)
      replicas.insert(x.header.replica);
  }
  if (const auto found = find_task(key);
      kind == tensor_kind::task && found != tasks_.end() && found->second.vectors) {
    found->second.vectors->set_whole();
    replicas.insert(found->second.header.replica);
  }
  std::vector<whole_task> result;
  for (const auto replica : replicas)
    std::ranges::copy(begin_whole(replica), std::back_inserter(result));
  return result;
}

bool work_queue::is_whole(const task_in_work& x) const {
  return (!x.vectors || x.vectors->are_whole()) &&
         (!x.header.model || models_.at(*x.header.model).are_whole());
}

std::vector<work_queue::whole_task> work_queue::begin_whole(uint64_t replica) {
  std::vector<whole_task> result;
  for (auto& [number, x] : tasks_) {
    if (x.header.replica != replica || x.ticket > 0 || x.result)
      continue;
    if (!is_whole(x))
      break;
    x.ticket = ++last_ticket_;
    const auto& own = x.header.model ? models_.at(*x.header.model) : *x.vectors;
    result.push_back({x.header, x.ticket, own.vectors().front(),
                      x.vectors ? x.vectors->state(x.header.model ? 0 : 1) : optimizer_state{}});
    x.vectors.reset();
    exchange_->dismiss(tensor_kind::task, only_key(x.header.task));
  }
  forget_models();
  return result;
}

work_queue::place work_queue::find_task(uint64_t task) {
  return std::ranges::find_if(tasks_, [=](const auto& entry) {
    return !entry.second.header.evaluates && entry.second.header.task == task;
  });
}

std::optional<work_queue::finished_work> work_queue::finish(const trainer_result& news,
                                                            moment now) {
  const auto found = std::ranges::find_if(
    tasks_, [&](const auto& entry) { return entry.second.ticket == news.ticket; });
  if (news.ticket == 0 || found == tasks_.end() || found->second.result)
    return std::nullopt;
  auto& [number, x] = *found;
  std::vector<const_buffer> vectors;
  if (news.finite) {
    vectors = {news.values};
    for (const auto& slot : news.state.slots())
      vectors.emplace_back(slot);
  }
  std::vector<tensor_route> routes;
  for (const auto& owner : owners_.others)
    routes.push_back({owner.peer, owner.elements});
  tensor_name name{tensor_kind::result, term_, x.header.task, only_leaf, 0};
  for (const auto& vector : vectors) {
    exchange_->publish({.of = name, .values = {vector, 0, vector.size()}}, routes, now);
    ++name.part;
  }
  x.result = result_header{
    term_,          number, news.sums,   news.finite, static_cast<uint64_t>(news.computed.count()),
    vectors.size(), false,  news.clients};
  finished_work result{x.header.task, *x.result};
  if (!owners_.here.elements.empty() && news.finite)
    result.own = part_of({news.values, news.state}, owners_.here);
  return result;
}

std::optional<result_header> work_queue::finish(const evaluation& news) {
  for (auto& [number, x] : tasks_)
    if (x.header.evaluates && !x.result && news.term == term_ &&
        x.header.first_step == news.version && x.header.chunks.begin == news.first_chunk) {
      x.result = result_header{term_, number, {}, true, 0, 0};
      return x.result;
    }
  return std::nullopt;
}

std::vector<result_header> work_queue::lose(uint64_t replica) {
  lost_.insert(replica);
  std::vector<result_header> result;
  for (auto& [number, x] : tasks_)
    if (x.header.replica == replica && !x.result)
      result.push_back(end_without_result(number, x, true));
  forget_models();
  return result;
}

result_header work_queue::end_without_result(uint64_t number, task_in_work& x, bool is_lost) {
  x.vectors.reset();
  exchange_->dismiss(tensor_kind::task, only_key(x.header.task));
  result_header header;
  header.term = term_;
  header.number = number;
  header.finite = false;
  header.is_lost = is_lost;
  x.result = header;
  return header;
}

} // namespace troupe
