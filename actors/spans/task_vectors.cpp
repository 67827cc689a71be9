#include "actors/spans/task_vectors.hpp"

#include "models/base/copy_values.hpp"

namespace troupe {

span_vectors part_of(const span_vectors& whole, const vector_buffers& buffers) {
  const auto part = [&, elements = buffers.elements](std::span<const float> values) {
    auto result = buffers.pool->acquire();
    copy_values(values.subspan(elements.begin, elements.size()), result.values().begin());
    return result;
  };
  std::vector<buffer> slots;
  for (const auto& slot : whole.state.slots())
    slots.push_back(part(slot.values()));
  return {part(whole.values.values()), optimizer_state{std::move(slots)}, whole.is_model};
}

arriving_vectors::arriving_vectors(exchange_port& exchange, tensor_kind kind, uint64_t key,
                                   size_t count, std::vector<tensor_source> sources,
                                   const vector_buffers& buffers, moment now,
                                   const index_range& made_here)
  : vectors_(std::make_shared<std::vector<buffer>>(count)) {
  expectation what;
  what.kind = kind;
  what.key = key;
  what.elements = buffers.elements;
  what.parts = {0, count};
  what.sources = std::move(sources);
  if (!made_here.empty())
    what.made_here.push_back(made_here);
  what.memory = [vectors = vectors_, pool = buffers.pool,
                 first = buffers.elements.begin](const tensor_name& name) {
    auto& one = vectors->at(name.part);
    one = pool->acquire();
    return float_window{one, first};
  };
  exchange->expect(std::move(what), now);
  if (!made_here.empty())
    exchange->offer_kept(kind, now);
}

void task_vectors::begin_term(uint64_t term, const vector_buffers& span) {
  term_ = term;
  span_ = span;
  open_.clear();
  models_.clear();
}

void task_vectors::open(const task& given, moment now) {
  auto& x = open_[given.number];
  x.model = given.model;
  if (given.model)
    send_model(given, now);
  tensor_name name{tensor_kind::task, term_, given.number, only_leaf, 0};
  if (!given.model) {
    publish(name, given.vectors.values, given, now);
    ++name.part;
  }
  for (const auto& slot : given.vectors.state.slots()) {
    publish(name, slot, given, now);
    ++name.part;
  }
}

void task_vectors::expect(uint64_t number, size_t vector_count,
                          const std::optional<std::string>& from, moment now) {
  std::vector<tensor_source> sources;
  if (from)
    sources = {{exchange_.id_of(*from), span_.elements}};
  open_[number].result.emplace(exchange_, tensor_kind::result, number, vector_count,
                               std::move(sources), span_, now);
}

void task_vectors::publish(const tensor_name& name, const const_buffer& values, const task& given,
                           moment now) {
  const kept_tensor x{
    .of = name, .first_element = span_.elements.begin, .values = {values, 0, values.size()}};
  const tensor_route route{exchange_.id_of(given.process), span_.elements};
  exchange_->publish(x, {&route, given.is_here ? size_t{0} : size_t{1}}, now);
  if (given.is_here)
    exchange_->offer(x, now);
}

void task_vectors::send_model(const task& given, moment now) {
  const auto& values = given.vectors.values;
  const auto [found, is_new] = models_.try_emplace(*given.model);
  const kept_tensor x{.of = {tensor_kind::model, term_, *given.model, only_leaf, 0},
                      .first_element = span_.elements.begin,
                      .values = {values, 0, values.size()}};
  if (is_new)
    exchange_->publish(x, {}, now);
  if (!found->second.emplace(given.process, given.incarnation).second)
    return;
  if (given.is_here)
    exchange_->offer(x, now);
  else
    exchange_->send(exchange_.id_of(given.process), x.of, span_.elements, now);
  forget_models();
}

void task_vectors::forget_models() {
  std::erase_if(models_, [&](const auto& entry) {
    const bool is_needed =
      is_newest_model(models_, entry.first) ||
      std::ranges::any_of(open_, [&](const auto& x) { return x.second.model == entry.first; });
    if (!is_needed)
      exchange_->forget(tensor_kind::model, only_key(entry.first));
    return !is_needed;
  });
}

void task_vectors::expect_from(uint64_t number, const std::string& process) {
  exchange_->set_sources(tensor_kind::result, number, span_.elements,
                         {{exchange_.id_of(process), span_.elements}});
}

void task_vectors::expect_none(uint64_t number) {
  if (const auto found = open_.find(number); found != open_.end())
    found->second.result.reset();
}

bool task_vectors::set_whole(uint64_t number) {
  const auto found = open_.find(number);
  const bool is_expected = found != open_.end() && found->second.result;
  if (is_expected)
    found->second.result->set_whole();
  return is_expected;
}

bool task_vectors::is_whole(uint64_t number) const {
  const auto found = open_.find(number);
  return found == open_.end() || !found->second.result || found->second.result->are_whole();
}

span_vectors task_vectors::result_of(uint64_t number) const {
  const auto found = open_.find(number);
  if (found == open_.end() || !found->second.result)
    return {};
  return {found->second.result->vectors().front(), found->second.result->state(1)};
}

void task_vectors::close(uint64_t number) {
  exchange_->forget(tensor_kind::task, only_key(number));
  exchange_->dismiss(tensor_kind::result, only_key(number));
  open_.erase(number);
  forget_models();
}

} // namespace troupe
