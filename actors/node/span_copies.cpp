#include "actors/node/span_copies.hpp"

#include "coordinators/parallel/boundary_tensors.hpp"

#include <algorithm>
#include <utility>

namespace troupe {

void span_copies::begin_term() {
  wards_.clear();
  own_.clear();
  is_cutting_ = false;
  buffers_.clear(); // those in use live on
  const auto& view = context_.view;
  for (size_t k = 0; k < view.shards.size() && view.copy_every > 0; ++k) {
    const auto& place = view.shards[k];
    const auto deputies = deputies_of(view, k);
    if (place.blocks.empty() || std::ranges::find(deputies, *context_.me) == deputies.end())
      continue;
    auto& one = wards_.emplace_back();
    one.blocks = place.blocks;
    one.elements = context_.span_of(place);
    one.owner = context_.exchange.id_of(context_.owner_of(place));
    expect(one, view.start_version > 0 ? view.start_version : *next_copy(view, 0));
  }
}

void span_copies::expect(ward& one, uint64_t version) {
  one.expected = version;
  if (version > context_.options.plan.last_version())
    return;
  auto& pool = buffers_[one.elements.size()];
  if (!pool)
    pool = std::make_shared<buffer_pool>(one.elements.size());
  expectation what;
  what.kind = tensor_kind::copy;
  what.key = version;
  what.elements = one.elements;
  what.parts = {0, 1 + context_.options.slot_count};
  what.sources = {{one.owner, one.elements}};
  what.memory = [pool, begin = one.elements.begin](const tensor_name&) {
    return float_window{pool->acquire(), begin};
  };
  context_.exchange->dismiss(tensor_kind::copy, {}, one.elements, true);
  context_.exchange->expect(std::move(what), context_.now());
  // It may have been a deputy of the same span in the term before.
  context_.exchange->offer_kept(tensor_kind::copy, context_.now());
}

void span_copies::keep(uint64_t version, uint64_t part, uint64_t first_element,
                       const float_view& values, const tensor_note& note,
                       std::span<const tensor_route> routes) {
  context_.exchange->publish({.of = {tensor_kind::copy, 0, version, only_leaf, part},
                              .first_element = first_element,
                              .values = values,
                              .note = note},
                             routes, context_.now());
}

// What the process has kept since an earlier term does not go out once more by being published.
void span_copies::on_copy(const shard_copy& news) {
  const auto& view = context_.view;
  const auto span = std::ranges::find(spans_.all(), news.shard, &local_span::shard);
  if (span == spans_.all().end() || (view.copy_every == 0 && !news.is_cut) ||
      news.numbers.first_element != span->elements.begin ||
      news.parameters.size() != span->elements.size())
    return; // of an earlier term
  const auto& blocks = view.shards[span->shard].blocks;
  std::vector<tensor_route> routes;
  if (news.is_kept) {
    auto& own = own_[news.shard] = {news.version, {}};
    for (const auto deputy : deputies_of(view, span->shard)) {
      routes.push_back({context_.exchange.id_of(view.members[deputy].name), span->elements});
      own.missing.insert(routes.back().to);
    }
  }
  const bool is_here = held_[news.version].contains(blocks);
  for (size_t part = 0; part <= news.slots.size(); ++part) {
    keep(news.version, part, span->elements.begin,
         part == 0 ? news.parameters : news.slots[part - 1], note_of(news.numbers.metrics), routes);
    for (const auto& route : routes)
      if (is_here)
        context_.exchange->send(route.to, {tensor_kind::copy, 0, news.version, only_leaf, part},
                                span->elements, context_.now());
  }
  held_[news.version].add(blocks);
  release(*span);
}

void span_copies::on_arrived(const tensor_arrived& news) {
  const auto one = std::ranges::find(wards_, news.elements, &ward::elements);
  if (one == wards_.end() || news.of.key != one->expected)
    return;
  keep(news.of.key, news.of.part, news.elements.begin, news.values, news.note, {});
  if (!news.complete)
    return;
  held_[news.of.key].add(one->blocks);
  one->whole = news.of.key;
  one->clock.restart(context_.now());
  say_it_came(*one);
  expect(*one, *next_copy(context_.view, news.of.key));
}

void span_copies::say_it_came(const ward& one) const {
  context_.exchange.ask(
    context_.self, one.owner,
    {{tensor_kind::copy, 0, *one.whole, only_leaf, 0}, {one.elements}, false, true});
}

// A deputy may have later ones already, of the term before: it names the newest.
void span_copies::on_come(peer_id deputy, const tensor_want& what) {
  for (const auto& span : spans_.all()) {
    const auto own = own_.find(span.shard);
    if (own != own_.end() && own->second.version <= what.of.key && what.elements.size() == 1 &&
        what.elements.front() == span.elements && own->second.missing.erase(deputy) > 0)
      release(span);
  }
}

void span_copies::release(const local_span& span) {
  const auto own = own_.find(span.shard);
  if (own == own_.end() || !own->second.missing.empty() || own->second.is_released || !may_go_on())
    return;
  own->second.is_released = true;
  context_.self->send(context_.local.shards[span.local], atom::save_v, own->second.version);
}

void span_copies::on_directive(const directive& news) {
  if (news.term != context_.view.id.term)
    return;
  is_cutting_ = news.rule.is_cut;
  for (const auto& span : spans_.all())
    release(span);
}

void span_copies::on_version(uint64_t version) {
  const auto first = copies_needed_from(context_.view, version);
  if (is_asked() || held_.empty() || held_.begin()->first >= first)
    return;
  held_.erase(held_.begin(), held_.lower_bound(first));
  context_.exchange->forget(tensor_kind::copy, keys_before(first));
}

// A director that has been replaced led other terms.
void span_copies::on_request(const copies_request& news) {
  if (news.last == context_.view.id.term && news.term > news.last)
    asked_term_ = news.term;
}

std::vector<awaited> span_copies::waits() const {
  std::vector<awaited> result;
  for (const auto& [shard, own] : own_)
    for (const auto deputy : own.missing)
      result.push_back(
        {context_.exchange.name_of(deputy),
         "word that its copy of version " + std::to_string(own.version) + " is whole"});
  return result;
}

held_copies span_copies::answer() const {
  held_copies result{asked_term_, {}};
  if (is_asked())
    for (const auto& [version, blocks] : held_)
      if (!blocks.ranges().empty())
        result.copies.push_back({version, blocks.ranges()});
  return result;
}

void span_copies::tick(moment now) {
  for (auto& one : wards_)
    if (one.whole && one.clock.due(now)) // the word may have been lost
      say_it_came(one);
}

} // namespace troupe
