#include "actors/node/local_spans.hpp"

#include <algorithm>
#include <array>

namespace troupe {

void local_spans::begin_term() {
  versions_ = std::make_shared<version_buffers>(context_.options.parameters);
  points_ = context_.options.has_point
              ? std::make_shared<version_buffers>(context_.options.parameters)
              : nullptr;
  if (auto window = context_.window_of(*context_.me))
    versions_->set_window(std::move(window));
  all_.clear();
  beginnings_.clear();
  numbers_.clear();
  has_started_ = false;
  const auto start = context_.view.start_version;
  for (size_t k = 0; k < context_.view.shards.size(); ++k) {
    const auto& place = context_.view.shards[k];
    const auto elements = context_.span_of(place);
    if (context_.is_mine(place) && !elements.empty())
      all_.push_back({k, place.index, elements, start});
  }
  beginnings_.resize(all_.size());
  is_first_ = start == 0;
  if (is_first_)
    return initialize();
  for (const auto& one : all_)
    expect_state(one);
  numbers_clock_.restart(context_.now());
}

void local_spans::initialize() {
  const auto first = versions_->at(0);
  for (size_t k = 0; k < all_.size(); ++k) {
    const auto span = first.part(all_[k].elements);
    context_.options.network->initialize(
      context_.options.seed, all_[k].elements,
      first.storage.values().subspan(span.offset(), span.size()));
    beginnings_[k].parameters = span;
  }
}

void local_spans::expect_state(const local_span& one) {
  const auto parameters = versions_->at(one.version);
  expectation what;
  what.kind = tensor_kind::state;
  what.key = one.version;
  what.elements = one.elements;
  what.parts = {0, 1 + context_.options.slot_count};
  what.sources = {{peer_id::director, one.elements}};
  what.comes_unasked = false;
  what.memory = [parameters, elements = one.elements](const tensor_name& name) {
    return name.part == 0 ? parameters : float_window{buffer{elements.size()}, elements.begin};
  };
  context_.exchange->expect(std::move(what), context_.now());
}

bool local_spans::is_ready() const {
  return is_first_ || std::ranges::all_of(
                        beginnings_, [](const beginning& x) { return x.is_whole && x.numbers; });
}

void local_spans::start_shards() {
  for (size_t k = 0; k < all_.size(); ++k) {
    shard_start start{context_.view.id.term,     versions_, beginnings_[k].slots, {},
                      beginnings_[k].parameters, points_};
    if (!is_first_)
      start.numbers = *beginnings_[k].numbers;
    context_.self->send(context_.local.owners[all_[k].local], std::move(start));
  }
  beginnings_.clear();
  has_started_ = true;
  context_.exchange->dismiss(tensor_kind::state, {});
}

void local_spans::on_arrived(const tensor_arrived& news) {
  for (size_t k = 0; k < beginnings_.size(); ++k) {
    if (all_[k].elements != news.elements)
      continue;
    auto& slots = beginnings_[k].slots;
    slots.resize(context_.options.slot_count);
    if (news.of.part > 0)
      slots[news.of.part - 1] = news.values;
    else
      beginnings_[k].parameters = news.values;
    beginnings_[k].is_whole = beginnings_[k].is_whole || news.complete;
  }
}

void local_spans::on_numbers(const shard_numbers& news) {
  for (size_t k = 0; k < beginnings_.size(); ++k)
    if (news.version == all_[k].version && news.first_element == all_[k].elements.begin &&
        !beginnings_[k].numbers)
      beginnings_[k].numbers = news;
}

void local_spans::on_copy(const shard_copy& news) {
  const auto* one = find(news.shard);
  if (one == nullptr || news.numbers.first_element != one->elements.begin ||
      news.parameters.size() != one->elements.size())
    return; // of an earlier term
  const std::array route{tensor_route{peer_id::director, one->elements}};
  for (size_t part = 0; part <= news.slots.size(); ++part)
    context_.exchange->publish(
      {.of = {tensor_kind::state, context_.view.id.term, news.version, only_leaf, part},
       .first_element = one->elements.begin,
       .values = part == 0 ? news.parameters : news.slots[part - 1],
       .haste = urgency::checkpoint,
       .newest_kept = kept_max},
      route, context_.now());
  auto& numbers = numbers_[news.version];
  std::erase_if(
    numbers, [&](const shard_numbers& x) { return x.first_element == news.numbers.first_element; });
  numbers.push_back(news.numbers);
  while (numbers_.size() > kept_max)
    numbers_.erase(numbers_.begin());
  context_.tell_director(news.numbers);
}

// Asked beside the parameters, or alone (see tick).
void local_spans::on_asked(const tensor_want& what) const {
  const auto found = numbers_.find(what.of.key);
  if (found != numbers_.end() && what.of.part == 0)
    for (const auto& one : found->second)
      context_.tell_director(one);
}

// The exchange asks for tensors; who has all of them may still miss the numbers.
void local_spans::tick(moment now) {
  const bool lacks_numbers =
    std::ranges::any_of(beginnings_, [](const beginning& x) { return x.is_whole && !x.numbers; });
  if (lacks_numbers && numbers_clock_.due(now))
    context_.exchange.ask(
      context_.self, peer_id::director,
      {{tensor_kind::state, context_.view.id.term, context_.view.start_version, only_leaf, 0},
       {},
       false});
}

local_span* local_spans::find(uint64_t shard) {
  const auto found = std::ranges::find(all_, shard, &local_span::shard);
  return found == all_.end() ? nullptr : &*found;
}

bool parameter_windows::on_view() {
  windows_.clear();
  for (size_t i = 0; i < context_.view.members.size(); ++i)
    windows_.push_back(context_.window_of(i));
  const auto& own = windows_[*context_.me];
  const auto before = spans_.window();
  if (own == before || (own && before && *own == *before))
    return false;
  spans_.versions().set_window(own);
  return true;
}

std::vector<tensor_route> parameter_windows::routes_of(const index_range& span) {
  std::vector<tensor_route> routes;
  const auto count = context_.view.members.size();
  for (size_t k = 1; k < count; ++k) { // as gradients go: not all to the same one first
    const auto i = (*context_.me + k) % count;
    if (!context_.view.computes(i))
      continue;
    const auto peer = context_.exchange.id_of(context_.view.members[i].name);
    for (const auto& part : windows_[i] ? windows_[i]->shared_with(span) : std::vector{span})
      routes.push_back({peer, part});
  }
  return routes;
}

} // namespace troupe
