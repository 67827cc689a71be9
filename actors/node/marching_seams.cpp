#include "actors/node/marching_seams.hpp"

#include "actors/protocol/seam_messages.hpp"

#include <algorithm>

namespace troupe {

// ---- Views and versions ----

void marching_seams::on_view() {
  groups_.clear();
  expected_.clear();
  version_.reset();
  has_begun_before_ = false;
  seat_.exchange->dismiss(tensor_kind::seam, {});
  seat_.exchange->forget(tensor_kind::seam, {});
  std::map<index_range, std::vector<size_t>> places; // by slices
  for (size_t i = 0; i < seat_.view.replicas.size(); ++i)
    if (const auto& place = seat_.view.replicas[i]; !place.segments.empty())
      places[place.slices].push_back(i);
  for (const auto& [slices, members] : places) {
    if (std::ranges::none_of(members,
                             [this](size_t i) { return seat_.is_mine(seat_.view.replicas[i]); }))
      continue;
    std::vector<portion> portions;
    for (const auto i : members) {
      const auto& place = seat_.view.replicas[i];
      portions.push_back(place.work());
    }
    groups_.push_back(std::make_unique<group>(group{members, {seat_.options.network, portions}}));
  }
}

void marching_seams::begin(uint64_t version) {
  if (groups_.empty())
    return;
  version_ = version;
  expects_evaluation_ = false;
  expected_.clear();
  seat_.exchange->dismiss(tensor_kind::seam, keys_before(version));
  seat_.exchange->forget(tensor_kind::seam, keys_before(version));
  if (version < seat_.options.plan.last_version())
    expect(false);
  expect_due(std::nullopt);
  has_begun_before_ = true;
  look_again_at_early();
}

void marching_seams::expect_due(std::optional<uint64_t> final_version) {
  const bool is_due =
    version_ && (seat_.options.plan.evaluates(*version_) || final_version == version_);
  if (!is_due || expects_evaluation_)
    return;
  expects_evaluation_ = true;
  expect(true);
  look_again_at_early();
}

// ---- What is needed ----

void marching_seams::expect(bool evaluates) {
  for (const auto& x : groups_)
    for (const auto& item : items_of(*x, evaluates))
      expect_item(*x, item);
}

std::vector<seam_item> marching_seams::items_of(const group& x, bool evaluates) const {
  std::vector<seam_item> result;
  std::vector<index_range> slices;
  for (const auto& place : seat_.view.replicas)
    slices.push_back(place.slices);
  const auto& rows = seat_.options.rows;
  const auto own = x.places.front();
  const auto items = evaluates ? chunks_of_group(slices, own, rows.chunk_count()) : slices[own];
  for (auto item = items.begin; item < items.end; ++item) {
    const auto row_count = evaluates ? rows.rows_of_chunk(item).size()
                                     : seat_.options.plan.rows_of_slice(*version_, item).size();
    if (row_count > 0)
      result.push_back({evaluates, item, row_count});
  }
  return result;
}

void marching_seams::expect_item(const group& x, const seam_item& item) {
  for (size_t i = 0; i < x.places.size(); ++i)
    if (seat_.is_mine(seat_.view.replicas[x.places[i]]))
      for (const auto& what : x.tensors.needs(i, *version_, item))
        expect_tensor(x, x.places[i], what);
}

// Several local replicas may need one tensor: it comes once.
void marching_seams::expect_tensor(const group& x, size_t taker, const needed_seam& what) {
  auto sources = sources_of(x, what);
  if (sources.empty())
    return; // all of it is made here
  auto& same_name = expected_[seam_tensors::part_of(what.name, what.is_complete)];
  const auto found = std::ranges::find_if(
    same_name, [&](const expected& other) { return other.what.elements == what.elements; });
  if (found != same_name.end())
    return found->takers.push_back(taker);
  same_name.push_back({what, &x, {taker}});
  seat_.exchange->expect(expectation_of(what, std::move(sources)), seat_.now());
}

std::vector<tensor_source> marching_seams::sources_of(const group& x, const needed_seam& what) {
  std::vector<tensor_source> result;
  for (const auto& source : what.sources) {
    const auto& place = seat_.view.replicas[x.places[source.member]];
    if (!seat_.is_mine(place))
      result.push_back({seat_.exchange.id_of(seat_.view.members[place.member].name), what.elements,
                        source.leaves});
  }
  return result;
}

// Under a new view of a term others may have what is needed for long: it is asked for at once.
expectation marching_seams::expectation_of(const needed_seam& what,
                                           std::vector<tensor_source> sources) {
  auto& pool = pools_[what.elements.size()];
  if (!pool)
    pool = std::make_shared<buffer_pool>(what.elements.size());
  const auto part = seam_tensors::part_of(what.name, what.is_complete);
  expectation result;
  result.kind = tensor_kind::seam;
  result.key = what.name.version;
  result.elements = what.elements;
  result.parts = {part, part + 1};
  result.leaf_count = what.leaf_count;
  result.sources = std::move(sources);
  result.memory = [pool, begin = what.elements.begin](const tensor_name&) {
    return float_window{pool->acquire(), begin};
  };
  result.may_share = true;
  result.comes_unasked = has_begun_before_ || seat_.view.id.number == 1;
  return result;
}

// ---- What comes and goes ----

void marching_seams::on_seam(const seam& news) {
  if (!seat_.takes_part() || news.term != seat_.view.id.term || news.number != seat_.view.id.number)
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
      seat_.exchange.id_of(seat_.view.members[seat_.view.replicas.at(place).member].name);
    if (std::ranges::find(routes, peer, &tensor_route::to) == routes.end())
      routes.push_back({peer, what.elements()});
  }
  seat_.exchange->publish(what, routes, seat_.now());
}

void marching_seams::on_arrived(const tensor_arrived& news) {
  const auto same_name = expected_.find(news.of.part);
  if (same_name == expected_.end() || news.of.key != version_)
    return;
  for (const auto& one : same_name->second) {
    if (one.what.elements != news.elements)
      continue;
    seam here{
      seat_.view.id.term, seat_.view.id.number, one.of->tensors.piece_of(one.what, news), 0, {}};
    for (const auto place : one.takers)
      seat_.self->send(seat_.local.replicas[seat_.view.replicas[place].index], here);
  }
}

void marching_seams::on_early(peer_id from, const tensor_piece& piece) {
  const auto bytes = piece.values.size() * sizeof(float);
  const bool is_over = piece.of.term < seat_.view.id.term || (piece.of.term == seat_.view.id.term &&
                                                              version_ && piece.of.key < *version_);
  if (is_over || early_bytes_ + bytes > early_seam_bytes_max)
    return;
  early_.emplace_back(from, piece);
  early_bytes_ += bytes;
}

void marching_seams::look_again_at_early() {
  auto pieces = std::exchange(early_, {});
  early_bytes_ = 0;
  for (auto& [from, piece] : pieces)
    if (piece.of.key < *version_ || piece.of.term != seat_.view.id.term ||
        seat_.exchange->on_piece(from, piece, seat_.now()) <= piece_verdict::early)
      on_early(from, piece);
}

// ---- For people ----

std::map<peer_id, std::string> marching_seams::waits(std::optional<uint64_t> horizon) const {
  std::map<peer_id, std::string> result;
  for (const auto& [from, what] : seat_.exchange->awaited()) {
    if (what.of.kind != tensor_kind::seam || result.contains(from))
      continue;
    const auto name = seam_tensors::name_of(what.of.key, what.of.part);
    if (!name.evaluates && horizon && name.version >= *horizon)
      continue;
    const auto item = name.evaluates ? " of the evaluation of version " : " of step ";
    result[from] = std::string{name.way == seam_way::backward  ? "derivatives"
                               : name.way == seam_way::forward ? "activations"
                                                               : "figures of the loss"} +
                   item + std::to_string(name.version) +
                   (name.evaluates ? ", chunk " : ", slice ") + std::to_string(name.item) +
                   ", behind segment " + std::to_string(name.seam);
  }
  return result;
}

} // namespace troupe
