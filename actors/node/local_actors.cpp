#include "actors/node/local_actors.hpp"

#include "coordinators/parallel/boundary_tensors.hpp"
#include "coordinators/parallel/tile_window.hpp"
#include "models/base/copy_values.hpp"

#include <caf/actor_cast.hpp>

#include <algorithm>
#include <array>

namespace troupe {

size_t node_context::owner_count() const {
  return static_cast<size_t>(
    std::ranges::count_if(view.shards, [](const auto& x) { return !x.blocks.empty(); }));
}

task_taker_actor node_context::trainer_at(const replica_place& place) const {
  if (takes_tasks_directly(place))
    return at(place, local.trainers);
  const auto found = distant.find(life_of(place));
  return found == distant.end() ? task_taker_actor{} : found->second;
}

// A sharded model stays sharded while the view has no replicas.
bool node_context::splits_model() const {
  return options.sharded || std::ranges::any_of(view.replicas, [](const replica_place& place) {
           return !place.segments.empty();
         });
}

std::shared_ptr<const element_window> node_context::window_of(size_t member) const {
  if (options.kept && owner_count() > 1) { // what workers compute with has buffers of its own
    std::vector<index_range> own;
    for (const auto& place : view.shards)
      if (const auto span = span_of(place); place.member == member && !span.empty())
        own.push_back(span);
    return std::make_shared<const element_window>(std::move(own));
  }
  if (!options.wired || !splits_model())
    return nullptr;
  std::vector<index_range> elements;
  for (const auto& place : view.replicas)
    if (place.member == member && !place.slices.empty() && !options.sharded)
      for (const auto& one : elements_read(options.network->chain(), place.work()))
        elements.push_back(one);
  for (const auto& place : view.shards)
    if (const auto span = span_of(place); !span.empty())
      elements.push_back(place.member == member ? span : index_range{span.begin, span.begin + 1});
  return std::make_shared<const element_window>(std::move(elements));
}

trainer_life node_context::life_of(const replica_place& place) const {
  const auto& owner = view.members[place.member];
  return {owner.name, owner.incarnation, place.index};
}

view local_actors::local_view(uint64_t start_version) const {
  const auto& here = context_.view;
  view result;
  result.term = here.id.term;
  result.number = here.id.number;
  result.start_version = start_version;
  result.director = caf::actor_cast<reports_actor>(context_.self);
  result.relay = caf::actor_cast<relay_actor>(context_.self);
  result.wired = context_.options.wired && !context_.options.kept;
  result.window = spans_.window();
  result.is_careful = here.is_careful;
  result.copy_every = here.copy_every;
  for (const auto& place : here.replicas) {
    const replica_name who{here.members[place.member].name, place.index};
    result.replicas.push_back({context_.at(place, context_.local.replicas), place.slices, who,
                               place.segments, place.parts});
    if (const auto trainer = context_.trainer_at(place))
      result.trainers.push_back(
        {trainer, who, context_.is_mine(place) ? 0 : here.members[place.member].life});
  }
  for (const auto& place : here.shards)
    result.shards.push_back({context_.at(place, context_.local.shards), place.blocks});
  return result;
}

void local_actors::tell_replicas(uint64_t start_version) {
  auto news = local_view(start_version);
  for (size_t i = 0; i < context_.view.replicas.size(); ++i)
    if (const auto member = context_.at(context_.view.replicas[i], context_.local.members)) {
      news.index = i;
      news.restarts = restarts_[context_.view.replicas[i].index];
      context_.self->send(member, news);
    }
}

void local_actors::tell_shards() {
  auto news = local_view(context_.view.start_version);
  for (size_t k = 0; k < context_.view.shards.size(); ++k)
    if (const auto& place = context_.view.shards[k]; context_.is_mine(place)) {
      news.index = k;
      context_.self->send(context_.local.owners[place.index], news);
    }
}

void local_actors::restart_replicas() {
  for (auto& count : restarts_)
    ++count;
}

void local_actors::tell_to_rest() {
  restart_replicas();
  have_begun_ = false;
  auto news = local_view(0);
  news.shards.clear();
  news.replicas.assign(1, {});
  for (size_t i = 0; i < context_.local.members.size(); ++i) {
    news.restarts = restarts_[i];
    context_.self->send(context_.local.members[i], news);
  }
}

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
    const auto out = first.storage.values().subspan(span.offset(), span.size());
    if (const auto& start = context_.options.first.values)
      copy_values(start.values().subspan(all_[k].elements.begin, span.size()), out.begin());
    else
      context_.options.network->initialize(context_.options.first.seed, all_[k].elements, out);
    beginnings_[k].parameters = span;
  }
}

void local_spans::expect_state(const local_span& one) {
  const auto parameters = versions_->at(one.version);
  expectation what;
  what.kind = kind_of_start();
  what.key = one.version;
  what.elements = one.elements;
  what.parts = {0, 1 + context_.options.slot_count};
  if (what.kind == tensor_kind::state)
    what.sources = {{peer_id::director, one.elements}};
  for (const auto& holder : context_.view.holders)
    if (!context_.is_mine(holder))
      what.sources.push_back(
        {context_.exchange.id_of(context_.view.members[holder.member].name),
         shared_part(one.elements, elements_of_blocks(holder.blocks, context_.element_count()))});
  what.comes_unasked = false;
  what.memory = [parameters, elements = one.elements](const tensor_name& name) {
    return name.part == 0 ? parameters : float_window{buffer{elements.size()}, elements.begin};
  };
  context_.exchange->expect(std::move(what), context_.now());
  context_.exchange->offer_kept(kind_of_start(), context_.now());
}

bool local_spans::is_ready() const {
  return is_first_ || std::ranges::all_of(
                        beginnings_, [](const beginning& x) { return x.is_whole && x.numbers; });
}

void local_spans::start_shards() {
  for (size_t k = 0; k < all_.size(); ++k) {
    shard_start start{context_.view.id.term,     versions_, beginnings_[k].slots,         {},
                      beginnings_[k].parameters, points_,   context_.view.holders.empty()};
    if (!is_first_)
      start.numbers = *beginnings_[k].numbers;
    context_.self->send(context_.local.owners[all_[k].local], std::move(start));
  }
  beginnings_.clear();
  has_started_ = true;
  for (const auto& one : all_)
    context_.exchange->dismiss(kind_of_start(), {}, one.elements, true);
}

void local_spans::on_arrived(const tensor_arrived& news) {
  for (size_t k = 0; k < beginnings_.size(); ++k) {
    if (all_[k].elements != news.elements || all_[k].version != news.of.key)
      continue;
    auto& slots = beginnings_[k].slots;
    slots.resize(context_.options.slot_count);
    if (news.of.part > 0)
      slots[news.of.part - 1] = news.values;
    else
      beginnings_[k].parameters = news.values;
    beginnings_[k].is_whole = beginnings_[k].is_whole || news.complete;
    if (news.of.kind == tensor_kind::copy) // no optimizer with copies has numbers
      beginnings_[k].numbers = {news.of.key, news.elements.begin, {}, false, sums_of(news.note)};
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
  if (!news.is_saved || one == nullptr || news.numbers.first_element != one->elements.begin ||
      news.parameters.size() != one->elements.size())
    return; // for deputies alone, or of an earlier term
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

// The director asks for the numbers with the parameters, or alone (checkpoint_drafts::due).
void local_spans::on_asked(const tensor_want& what) const {
  const auto found = numbers_.find(what.of.key);
  if (found != numbers_.end() && what.of.part == 0)
    for (const auto& one : found->second)
      context_.tell_director(one);
}

// The exchange asks for missing tensors. The numbers may still be missing when all tensors are
// here.
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
  for (size_t k = 1; k < count; ++k) { // so that not all processes send to the same one first
    const auto i = (*context_.me + k) % count;
    if (!context_.gets_versions(i))
      continue;
    const auto peer = context_.exchange.id_of(context_.view.members[i].name);
    for (const auto& part : windows_[i] ? windows_[i]->shared_with(span) : std::vector{span})
      routes.push_back({peer, part});
  }
  return routes;
}

} // namespace troupe
