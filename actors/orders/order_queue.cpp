#include "actors/orders/order_queue.hpp"

#include <algorithm>

namespace troupe {

namespace {

/// The key of an order's vectors: the task; of evaluations none is on a wire.
uint64_t key_of(const order_header& x) {
  return x.evaluates ? evaluation_of(x.number) : x.task;
}

task_vectors::task vectors_of(const distant_order& order, const order_header& header,
                              bool is_here) {
  task_vectors::task result{.number = key_of(header),
                            .process = order.who.process,
                            .incarnation = order.who.incarnation,
                            .is_here = is_here,
                            .model = header.model,
                            .vectors = {}};
  result.vectors.values = order.work ? order.work->parameters : order.evaluation->model.values;
  if (order.work)
    result.vectors.state = order.work->state;
  return result;
}

order_header header_of(const distant_order& order) {
  order_header result;
  result.replica = order.who.replica;
  if (const auto& work = order.work) {
    result.task = work->number;
    result.kind = work->task;
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
    result.first_step = order.evaluation->version;
    result.chunks = order.evaluation->chunks;
    result.model = order.evaluation->model.number;
  }
  return result;
}

std::string in_words(const order_header& x) {
  if (x.evaluates)
    return "the evaluation of version " + std::to_string(x.first_step);
  const auto step = std::to_string(x.first_step);
  if (x.kind == trainer_task::clients)
    return "clients of round " + std::to_string(x.first_step + 1);
  return x.kind == trainer_task::gradient
           ? "the gradient of step " + step
           : "the model of member " + std::to_string(x.member) + " from step " + step + " on";
}

} // namespace

void order_queue::begin_term(uint64_t term, std::map<uint64_t, std::string> owners) {
  term_ = term;
  owners_ = std::move(owners);
  open_.clear();
  newest_.clear();
  usual_.clear();
  last_number_ = 0;
}

order_header order_queue::open(const distant_order& order, bool is_here, moment now) {
  const auto number = ++last_number_;
  auto& x = open_[number];
  x.order = order;
  x.header = header_of(order);
  x.header.term = term_;
  x.header.number = number;
  x.clock.restart(now);
  x.opened = x.heard = now;
  newest_[order.who.process] = number;
  vectors_.open(vectors_of(order, x.header, is_here), now);
  if (const auto count = result_vector_count(x.header); count > 0 && !is_here)
    vectors_.expect(key_of(x.header), count, std::nullopt, now);
  return current(x);
}

order_header order_queue::current(const open_order& x) const {
  auto result = x.header;
  for (const auto& [number, other] : open_)
    if (other.order.who.process == x.order.who.process)
      result.open.push_back(number);
  result.last = newest_.at(x.order.who.process);
  return result;
}

std::optional<order_queue::finished_order> order_queue::offer(const result_header& news, moment now,
                                                              span_vectors own) {
  const auto found = open_.find(news.number);
  if (news.term != term_ || found == open_.end() || found->second.result || news.is_lost)
    return std::nullopt;
  auto& x = found->second;
  const auto expected = news.finite ? result_vector_count(x.header) : 0;
  if (x.header.kind == trainer_task::clients && !x.header.is_dropped &&
      news.clients.size() != x.header.chunks.size())
    return std::nullopt;
  if (news.vector_count != expected)
    return std::nullopt;
  x.result = news;
  x.heard = now;
  // The longest time fades by a tenth with each order: forty orders forget one long absence.
  auto& usual = usual_[x.order.who];
  usual = std::max(moment::duration{now - x.opened}, usual - usual / 10);
  x.own = std::move(own);
  if (expected == 0)
    vectors_.expect_none(key_of(x.header));
  else if (!x.own.values)
    vectors_.expect_from(key_of(x.header), x.order.who.process);
  return finish(found);
}

order_queue::place order_queue::find_task(uint64_t task) {
  return std::ranges::find_if(open_, [=](const auto& entry) {
    return !entry.second.header.evaluates && entry.second.header.task == task;
  });
}

void order_queue::hear(uint64_t task, moment now) {
  if (const auto found = find_task(task); found != open_.end())
    found->second.heard = now;
}

std::optional<order_queue::finished_order> order_queue::finish(uint64_t task) {
  const auto found = find_task(task);
  if (found == open_.end() || !vectors_.set_whole(task))
    return std::nullopt;
  return finish(found);
}

std::vector<order_queue::finished_order> order_queue::on_progress(const span_progress& news,
                                                                  moment now) {
  std::vector<finished_order> result;
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

std::optional<order_queue::finished_order> order_queue::drop(uint64_t task) {
  for (auto& [number, x] : open_) // of an evaluation each share
    if (x.header.task == task)
      x.header.is_dropped = true;
  const auto found = find_task(task);
  return found == open_.end() ? std::nullopt : finish(found);
}

bool order_queue::is_whole(const open_order& x) const {
  if (!x.result || x.header.is_dropped)
    return x.result.has_value();
  return vectors_.is_whole(key_of(x.header)) &&
         (x.result->vector_count == 0 || x.whole_at.size() == owners_.size());
}

std::optional<order_queue::finished_order> order_queue::finish(place found) {
  if (!is_whole(found->second))
    return std::nullopt;
  const auto x = std::move(found->second);
  open_.erase(found);
  const auto key = key_of(x.header);
  const auto [values, state, is_model] = x.own.values ? x.own : vectors_.result_of(key);
  vectors_.close(key);
  if (x.header.evaluates)
    return std::nullopt;
  const auto& work = *x.order.work;
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
  return finished_order{work.server, std::move(result)};
}

std::optional<trainer_life> order_queue::lost_by(const result_header& news) const {
  const auto found = open_.find(news.number);
  if (!news.is_lost || news.term != term_ || found == open_.end())
    return std::nullopt;
  return found->second.order.who;
}

void order_queue::keep_if(const std::function<bool(const trainer_life&)>& is_here) {
  std::erase_if(open_, [&](const auto& entry) {
    const bool is_lost = !is_here(entry.second.order.who);
    if (is_lost)
      vectors_.close(key_of(entry.second.header));
    return is_lost;
  });
  std::erase_if(usual_, [&](const auto& entry) { return !is_here(entry.first); });
}

std::vector<std::pair<std::string, order_header>> order_queue::due(moment now) {
  std::vector<std::pair<std::string, order_header>> result;
  for (auto& [number, x] : open_)
    if (!x.result && x.clock.due(now))
      result.emplace_back(x.order.who.process, current(x));
  return result;
}

// An announced result need only travel, so the trainer's computing time does not count any more.
bool order_queue::is_late(const open_order& x, moment now) const {
  moment::duration patience = order_patience_min;
  if (const auto usual = usual_.find(x.order.who); !x.result && usual != usual_.end())
    patience = std::max(patience, order_patience_factor * usual->second);
  return now - x.heard >= patience;
}

std::vector<awaited> order_queue::waits(moment now) const {
  std::vector<awaited> result;
  for (const auto& [number, x] : open_) {
    if (!is_late(x, now))
      continue;
    const auto owner = std::ranges::find_if(
      owners_, [&x](const auto& entry) { return !x.whole_at.contains(entry.first); });
    const bool lacks_owner =
      x.result && vectors_.is_whole(key_of(x.header)) && owner != owners_.end();
    result.push_back({lacks_owner ? owner->second : x.order.who.process,
                      (x.result ? "values of " : "") + in_words(x.header)});
  }
  return result;
}

} // namespace troupe
