#include "actors/node/local_actors.hpp"

#include "coordinators/parallel/tile_window.hpp"

#include <caf/actor_cast.hpp>

#include <algorithm>

namespace troupe {

order_taker_actor node_context::trainer_at(const replica_place& place) const {
  if (is_mine(place))
    return at(place, local.trainers);
  const auto found = distant.find(life_of(place));
  return found == distant.end() ? order_taker_actor{} : found->second;
}

std::shared_ptr<const element_window> node_context::window_of(size_t member) const {
  // A sharded model stays so while nobody is there to compute.
  const bool splits =
    options.sharded || std::ranges::any_of(view.replicas, [](const replica_place& place) {
      return !place.segments.empty();
    });
  if (!options.wired || !splits)
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

} // namespace troupe
