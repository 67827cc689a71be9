#include "actors/orders/work_queue.hpp"

#include "models/privacy/secret_stream.hpp"

#include <algorithm>

namespace troupe {

namespace {

bool are_possible_steps(const order_header& x, const timeline& plan) {
  const auto last = plan.last_version();
  if (x.first_step >= last || x.step_count == 0)
    return false;
  const auto left_in_epoch = plan.steps_in_epoch() - x.first_step % plan.steps_in_epoch();
  return x.step_count <= left_in_epoch && x.step_count <= last - x.first_step;
}

} // namespace

bool is_possible(const order_header& x, const order_bounds& bounds) {
  if (x.evaluates)
    return x.vector_count == 1 && x.first_step <= bounds.plan.last_version() &&
           x.chunks.begin < x.chunks.end && x.chunks.end <= bounds.rows.chunk_count();
  if (x.task == trainer_task::clients)
    return x.vector_count == 1 && x.step_count == 1 && x.first_step < bounds.plan.last_version() &&
           x.chunks.begin < x.chunks.end && x.chunks.end <= bounds.cohort_max &&
           x.attempt < secret_attempt_limit;
  const bool is_gradient = x.task == trainer_task::gradient;
  return x.vector_count == (is_gradient ? 1 : 1 + bounds.slot_count) &&
         (!is_gradient || x.step_count == 1) && x.member < bounds.plan.slice_count &&
         are_possible_steps(x, bounds.plan);
}

void work_queue::begin_term(uint64_t term) {
  term_ = term;
  orders_.clear();
  newest_ = 0;
}

std::optional<result_header> work_queue::offer(const order_header& news, peer_id server,
                                               moment now) {
  if (news.term != term_)
    return std::nullopt;
  // A header that is late may name an order whose result has been here, or that is void.
  if (news.last < newest_)
    return std::nullopt;
  newest_ = news.last;
  forget_all_but(news.open, news.last);
  const auto [found, is_new] = orders_.try_emplace(news.number);
  auto& x = found->second;
  if (!is_new)
    return x.result;
  x.header = news;
  if (lost_.contains(news.replica))
    return end_without_result(news.number, x);
  x.vectors.emplace(exchange_, tensor_kind::order, news.number, news.vector_count, server, buffers_,
                    now);
  return std::nullopt;
}

void work_queue::forget_all_but(const std::vector<uint64_t>& open, uint64_t last) {
  std::erase_if(orders_, [&](const auto& entry) {
    const bool is_over = entry.first <= last && std::ranges::find(open, entry.first) == open.end();
    if (is_over) {
      exchange_->dismiss(tensor_kind::order, only_key(entry.first));
      exchange_->forget(tensor_kind::result, only_key(entry.first));
    }
    return is_over;
  });
}

std::vector<work_queue::whole_order> work_queue::begin(uint64_t number) {
  const auto found = orders_.find(number);
  if (found == orders_.end() || !found->second.vectors)
    return {};
  found->second.is_whole = true;
  return begin_whole(found->second.header.replica);
}

std::vector<work_queue::whole_order> work_queue::begin_whole(uint64_t replica) {
  std::vector<whole_order> result;
  for (auto& [number, x] : orders_) {
    if (x.header.replica != replica || !x.vectors)
      continue;
    if (!x.is_whole)
      break;
    x.ticket = ++last_ticket_;
    result.push_back({x.header, x.ticket, x.vectors->vectors().front(), x.vectors->state()});
    x.vectors.reset();
    exchange_->dismiss(tensor_kind::order, only_key(number));
  }
  return result;
}

std::optional<result_header> work_queue::finish(const trainer_result& news, peer_id server,
                                                moment now) {
  const auto found = std::ranges::find_if(
    orders_, [&](const auto& entry) { return entry.second.ticket == news.ticket; });
  if (news.ticket == 0 || found == orders_.end() || found->second.result)
    return std::nullopt;
  auto& [number, x] = *found;
  std::vector<const_buffer> vectors;
  if (news.finite) {
    vectors = {news.values};
    for (const auto& slot : news.state.slots())
      vectors.emplace_back(slot);
  }
  publish_vectors(exchange_, {tensor_kind::result, term_, number, only_leaf, 0}, vectors, server,
                  now);
  x.result = result_header{
    term_,          number, news.sums,   news.finite, static_cast<uint64_t>(news.computed.count()),
    vectors.size(), false,  news.clients};
  return x.result;
}

std::optional<result_header> work_queue::finish(const evaluation& news) {
  for (auto& [number, x] : orders_)
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
  for (auto& [number, x] : orders_)
    if (x.header.replica == replica && !x.result)
      result.push_back(end_without_result(number, x));
  return result;
}

result_header work_queue::end_without_result(uint64_t number, order_in_work& x) {
  x.vectors.reset();
  exchange_->dismiss(tensor_kind::order, only_key(number));
  result_header header;
  header.term = term_;
  header.number = number;
  header.is_lost = true;
  x.result = header;
  return header;
}

} // namespace troupe
