#include "actors/node/synchronous_segments.hpp"

#include "actors/protocol/boundary_messages.hpp"
#include "coordinators/parallel/tile_window.hpp"

#include <algorithm>
#include <utility>

namespace troupe {

namespace {

size_t largest_segment(const segment_chain& chain) {
  size_t result = 0;
  for (size_t k = 0; k < chain.size(); ++k)
    result = std::max(
      result,
      element_window{elements_read(chain, {{}, {k, k + 1}, {0, chain.part_count()}})}.size());
  return result;
}

} // namespace

void synchronous_segments::stop() {
  for (const auto& [segment, x] : std::exchange(fetched_, {}))
    if (version_)
      dismiss(x);
  version_.reset();
}

void synchronous_segments::begin(uint64_t version) {
  if (version_ == version)
    return;
  stop();
  version_ = version;
}

void synchronous_segments::on_request(const segment_request& news) {
  const auto& view = context_.view;
  if (!context_.takes_part() || news.term != view.id.term || news.number != view.id.number ||
      news.version != version_ || news.from >= view.replicas.size())
    return;
  if (!news.is_needed) {
    const auto found = fetched_.find(news.segment);
    if (found == fetched_.end() || found->second.takers.erase(news.from) == 0 ||
        !found->second.takers.empty())
      return;
    dismiss(found->second);
    fetched_.erase(found);
    return;
  }
  auto& x = fetched_[news.segment];
  const bool is_first = x.takers.empty();
  x.takers.insert(news.from);
  if (!is_first) {
    if (x.values.size() > 0)
      hand_over(news.segment, x, news.from);
    return;
  }
  const auto& work = view.replicas[news.from].work();
  x.window = std::make_shared<const element_window>(
    elements_read(context_.options.network->chain(),
                  {work.slices, {news.segment, news.segment + 1}, work.parts}));
  fetch(x);
}

void synchronous_segments::dismiss(const fetched& x) {
  context_.exchange->dismiss(tensor_kind::parameters, only_key(*version_), around(x), true);
}

index_range synchronous_segments::around(const fetched& x) const {
  const auto& runs = x.window->runs();
  return {runs.front().elements.begin, runs.back().elements.end};
}

// Asked for before local shards' values count as news: these are no sign that others' are on their way.
void synchronous_segments::fetch(const fetched& x) {
  if (!pool_)
    pool_ = std::make_shared<buffer_pool>(largest_segment(context_.options.network->chain()));
  expectation what;
  what.kind = tensor_kind::parameters;
  what.key = *version_;
  what.elements = around(x);
  what.needed = x.window;
  what.comes_unasked = false;
  what.is_fetched = true;
  for (const auto& place : context_.view.shards)
    if (const auto elements = context_.span_of(place); context_.is_mine(place))
      what.made_here.push_back(elements);
    else
      what.sources.push_back({context_.exchange.id_of(context_.owner_of(place)), elements});
  what.memory = [pool = pool_, window = x.window](const tensor_name&) {
    return float_window{pool->acquire(), 0, window};
  };
  context_.exchange->expect(std::move(what), context_.now());
  context_.exchange->tick(context_.now());
  context_.exchange->offer_kept(tensor_kind::parameters, context_.now());
}

void synchronous_segments::on_arrived(const tensor_arrived& news) {
  for (auto& [segment, x] : fetched_) {
    if (news.of.key != version_ || around(x) != news.elements)
      continue;
    x.values = news.values;
    for (const auto taker : x.takers)
      hand_over(segment, x, taker);
  }
}

void synchronous_segments::hand_over(size_t segment, const fetched& x, size_t taker) const {
  const auto& id = context_.view.id;
  context_.self->send(context_.local.replicas[context_.view.replicas[taker].index],
                      segment_parameters{id.term, id.number, *version_, segment, x.values});
}

} // namespace troupe
