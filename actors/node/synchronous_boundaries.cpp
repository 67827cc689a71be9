#include "actors/node/synchronous_boundaries.hpp"

#include "actors/protocol/boundary_messages.hpp"
#include "coordinators/parallel/tile_window.hpp"

#include <algorithm>

namespace troupe {

// ---- Views and versions ----

void synchronous_boundaries::on_view() {
  groups_.clear();
  expected_.clear();
  version_.reset();
  has_begun_before_ = false;
  context_.exchange->dismiss(tensor_kind::boundary, {});
  context_.exchange->forget(tensor_kind::boundary, {});
  std::map<index_range, std::vector<size_t>> places; // by slices
  for (size_t i = 0; i < context_.view.replicas.size(); ++i)
    if (const auto& place = context_.view.replicas[i]; !place.segments.empty())
      places[place.slices].push_back(i);
  for (const auto& [slices, members] : places) {
    if (std::ranges::none_of(
          members, [this](size_t i) { return context_.is_mine(context_.view.replicas[i]); }))
      continue;
    std::vector<partition> partitions;
    for (const auto i : members) {
      const auto& place = context_.view.replicas[i];
      partitions.push_back(place.work());
    }
    groups_.push_back(
      std::make_unique<group>(group{members, {context_.options.network, partitions}}));
  }
}

void synchronous_boundaries::begin(uint64_t version) {
  if (groups_.empty())
    return;
  version_ = version;
  expects_evaluation_ = false;
  expected_.clear();
  context_.exchange->dismiss(tensor_kind::boundary, keys_before(version));
  context_.exchange->forget(tensor_kind::boundary, keys_before(version));
  if (version < context_.options.plan.last_version())
    expect(false);
  expect_due(std::nullopt);
  has_begun_before_ = true;
  look_again_at_early();
}

void synchronous_boundaries::expect_due(std::optional<uint64_t> final_version) {
  const bool is_due =
    version_ && (context_.options.plan.evaluates(*version_) || final_version == version_);
  if (!is_due || expects_evaluation_)
    return;
  expects_evaluation_ = true;
  expect(true);
  look_again_at_early();
}

// ---- Expectations ----

void synchronous_boundaries::expect(bool evaluates) {
  for (const auto& x : groups_)
    for (const auto& item : items_of(*x, evaluates))
      expect_item(*x, item);
}

std::vector<boundary_item> synchronous_boundaries::items_of(const group& x, bool evaluates) const {
  std::vector<boundary_item> result;
  std::vector<index_range> slices;
  for (const auto& place : context_.view.replicas)
    slices.push_back(place.slices);
  const auto& rows = context_.options.rows;
  const auto own = x.places.front();
  const auto items =
    evaluates ? chunks_of_group(slices, own, rows, context_.options.plan).front() : slices[own];
  for (auto item = items.begin; item < items.end; ++item) {
    const auto row_count = evaluates ? rows.rows_of_chunk(item).size()
                                     : context_.options.plan.rows_of_slice(*version_, item).size();
    if (row_count > 0)
      result.push_back({evaluates, item, row_count});
  }
  return result;
}

void synchronous_boundaries::expect_item(const group& x, const boundary_item& item) {
  for (size_t i = 0; i < x.places.size(); ++i)
    if (context_.is_mine(context_.view.replicas[x.places[i]]))
      for (const auto& what : x.tensors.needs(i, *version_, item))
        expect_tensor(x, x.places[i], what);
}

// Several local replicas may need one tensor: it comes once.
void synchronous_boundaries::expect_tensor(const group& x, size_t taker,
                                           const needed_boundary& what) {
  auto sources = sources_of(x, what);
  if (sources.empty())
    return; // local replicas make all of it
  auto& same_name = expected_[boundary_tensors::part_of(what.name, what.is_complete)];
  const auto found = std::ranges::find_if(
    same_name, [&](const expected& other) { return other.what.elements == what.elements; });
  if (found != same_name.end())
    return found->takers.push_back(taker);
  same_name.push_back({what, &x, {taker}});
  context_.exchange->expect(expectation_of(what, std::move(sources)), context_.now());
}

std::vector<tensor_source> synchronous_boundaries::sources_of(const group& x,
                                                              const needed_boundary& what) {
  std::vector<tensor_source> result;
  for (const auto& source : what.sources) {
    const auto& place = context_.view.replicas[x.places[source.member]];
    if (!context_.is_mine(place))
      result.push_back({context_.exchange.id_of(context_.view.members[place.member].name),
                        what.elements, source.leaves});
  }
  return result;
}

// Under a later view of a term other processes may have the tensor already: then the node asks for
// it at once.
expectation synchronous_boundaries::expectation_of(const needed_boundary& what,
                                                   std::vector<tensor_source> sources) {
  auto& pool = pools_[what.elements.size()];
  if (!pool)
    pool = std::make_shared<buffer_pool>(what.elements.size());
  const auto part = boundary_tensors::part_of(what.name, what.is_complete);
  expectation result;
  result.kind = tensor_kind::boundary;
  result.key = what.name.version;
  result.elements = what.elements;
  result.parts = {part, part + 1};
  result.leaf_count = what.leaf_count;
  result.sources = std::move(sources);
  result.memory = [pool, begin = what.elements.begin](const tensor_name&) {
    return float_window{pool->acquire(), begin};
  };
  result.may_share = true;
  result.comes_unasked = has_begun_before_ || context_.view.id.number == 1;
  return result;
}

// ---- Messages ----

void synchronous_boundaries::on_boundary(const boundary& news) {
  if (!context_.takes_part() || news.term != context_.view.id.term ||
      news.number != context_.view.id.number)
    return;
  const auto found = std::ranges::find_if(groups_, [&](const auto& x) {
    return std::ranges::find(x->places, news.from) != x->places.end();
  });
  if (found == groups_.end())
    return;
  const auto what = (*found)->tensors.tensor_of(news.term, news.piece);
  std::vector<tensor_route> routes;
  for (const auto place : news.to) {
    const auto peer =
      context_.exchange.id_of(context_.view.members[context_.view.replicas.at(place).member].name);
    if (std::ranges::find(routes, peer, &tensor_route::to) == routes.end())
      routes.push_back({peer, what.elements()});
  }
  context_.exchange->publish(what, routes, context_.now());
}

void synchronous_boundaries::on_arrived(const tensor_arrived& news) {
  const auto same_name = expected_.find(news.of.part);
  if (same_name == expected_.end() || news.of.key != version_)
    return;
  for (const auto& one : same_name->second) {
    if (one.what.elements != news.elements)
      continue;
    boundary here{context_.view.id.term,
                  context_.view.id.number,
                  one.of->tensors.piece_of(one.what, news),
                  0,
                  {}};
    for (const auto place : one.takers)
      context_.self->send(context_.local.replicas[context_.view.replicas[place].index], here);
  }
}

void synchronous_boundaries::on_early(peer_id from, const tensor_piece& piece) {
  if (!is_over(piece.of))
    early_.keep(from, piece);
}

void synchronous_boundaries::look_again_at_early() {
  early_.offer(context_.exchange, context_.now(),
               [this](const tensor_name& name) { return is_over(name); });
}

// ---- For people ----

std::map<peer_id, std::string>
synchronous_boundaries::waits(std::optional<uint64_t> horizon) const {
  std::map<peer_id, std::string> result;
  for (const auto& [from, what] : context_.exchange->awaited()) {
    if (what.of.kind != tensor_kind::boundary || result.contains(from))
      continue;
    const auto name = boundary_tensors::name_of(what.of.key, what.of.part);
    if (!name.evaluates && horizon && name.version >= *horizon)
      continue;
    const auto item = name.evaluates ? " of the evaluation of version " : " of step ";
    result[from] = std::string{name.way == boundary_way::backward  ? "derivatives"
                               : name.way == boundary_way::forward ? "activations"
                                                                   : "figures of the loss"} +
                   item + std::to_string(name.version) +
                   (name.evaluates ? ", chunk " : ", slice ") + std::to_string(name.item) +
                   ", behind segment " + std::to_string(name.boundary);
  }
  return result;
}

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

// Asks before it offers local shards' values: these would look like a sign that others' values are
// on their way.
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
