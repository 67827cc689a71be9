#include "actors/node/owned_span.hpp"

#include <algorithm>
#include <utility>

namespace troupe {

void owned_span::begin_term() {
  decisions_.begin_term();
  given_.clear();
  whole_.clear();
  early_updates_.clear();
  last_given_ = told_ = 0;
  clock_ = {};
}

void owned_span::on_sequence(const sequence_news& news, const task_bounds& bounds) {
  const auto are_possible =
    std::ranges::all_of(news.entries, [&](const auto& x) { return is_possible(x, bounds); });
  if (!is_here() || !spans_.has_started() || !are_possible)
    return; // they come again
  auto next = decisions_.accept(news.entries);
  for (const auto& entry : next) {
    for (auto& one : spans_.all())
      one.version = std::max(one.version, entry.version);
    if (entry.kind == entry_kind::give) {
      given_.insert(entry.number);
      if (!entry.evaluates)
        expect_update(entry);
    } else if (entry.kind == entry_kind::take || entry.kind == entry_kind::drop) {
      given_.erase(entry.number);
      whole_.erase(entry.number);
      vectors_.close(entry.number);
    }
  }
  if (next.empty())
    return;
  context_.self->send(context_.local.span_owner, sequence_news{news.term, std::move(next)});
  for (auto& [task, update] : std::exchange(early_updates_, {}))
    put(task, std::move(update));
  early_.offer(context_.exchange, context_.now(),
               [this](const tensor_name& name) { return is_over(name); });
}

void owned_span::on_early(peer_id from, const tensor_piece& news) {
  if (!is_over(news.of))
    early_.keep(from, news);
}

void owned_span::expect_update(const sequence_entry& task) {
  last_given_ = std::max(last_given_, task.number);
  if (task.worker != context_.options.self.name)
    vectors_.expect(task.number, context_.options.tasks.result_vectors, task.worker,
                    context_.now());
}

// The worker's process may be in no view here yet: it asks for what it misses. The task may be decided by now.
void owned_span::on_given(const given_vectors& news) {
  if (news.term != context_.view.id.term || !given_.contains(news.task.number))
    return;
  const auto& process = news.task.worker;
  const auto place = context_.view.find(process);
  vectors_.open({.number = news.task.number,
                 .process = process,
                 .incarnation = place ? context_.view.members[*place].incarnation : 0,
                 .is_here = process == context_.options.self.name,
                 .model = news.vectors.is_model ? std::optional{news.model} : std::nullopt,
                 .vectors = news.vectors},
                context_.now());
}

void owned_span::on_arrived(uint64_t task) {
  if (vectors_.set_whole(task))
    put(task, vectors_.result_of(task));
}

void owned_span::put(uint64_t task, span_vectors update) {
  if (!given_.contains(task)) {
    if (task > last_given_)
      early_updates_[task] = std::move(update);
    return;
  }
  context_.self->send(context_.local.span_owner,
                      span_update{context_.view.id.term, task, std::move(update)});
  whole_.insert(task);
  tell_progress();
}

bool owned_span::is_over(const tensor_name& result) const {
  return !context_.local.span_owner || result.term < context_.view.id.term ||
         (result.key <= last_given_ && !given_.contains(result.key));
}

void owned_span::tell_progress() {
  if (!is_here())
    return;
  told_ = decisions_.position();
  clock_.restart(context_.now());
  context_.tell(
    context_.owner_of(context_.view.shards.front()),
    span_progress{
      context_.view.id.term, spans_.all().front().shard, told_, {whole_.begin(), whole_.end()}});
}

void owned_span::tick(moment now) {
  const bool is_quiet = decisions_.position() == 0 || !whole_.empty();
  if (spans_.has_started() && (decisions_.position() > told_ || (is_quiet && clock_.due(now))))
    tell_progress();
}

} // namespace troupe
