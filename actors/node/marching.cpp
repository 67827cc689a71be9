#include "actors/node/marching.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>

namespace troupe {

namespace {

float_view in_elements(const std::vector<double>& numbers) {
  const buffer storage{numbers.size() * elements_of_double};
  std::memcpy(storage.values().data(), numbers.data(), numbers.size() * sizeof(double));
  return {storage, 0, storage.size()};
}

std::vector<double> in_doubles(const float_view& elements) {
  std::vector<double> result(elements.size() / elements_of_double);
  std::memcpy(result.data(), elements.values().data(), result.size() * sizeof(double));
  return result;
}

/// "slice 2", "slices 2-3, 6".
std::string slices_text(const std::vector<index_range>& ranges) {
  std::string list;
  size_t count = 0;
  for (const auto& range : ranges) {
    count += range.size();
    list += (list.empty() ? "" : ", ") + std::to_string(range.begin) +
            (range.size() > 1 ? "-" + std::to_string(range.end - 1) : "");
  }
  return (count == 1 ? "slice " : "slices ") + list;
}

} // namespace

// ---- Views ----

void marching::begin_term() {
  sums_ = local_sums{seat_.options.plan};
  parts_.clear();
  sums_step_.reset();
  take_up_slices();
  seams_.on_view();
  windows_.on_view();
  segments_.stop();
  for (const auto& one : spans_.all())
    expect_gradients(one);
  expect_block_sums(seat_.view.start_version);
  // Who comes in the middle of a term cannot know how far the others are.
  gather_from(seat_.view.id.number == 1 ? std::optional{seat_.view.start_version} : std::nullopt);
}

void marching::on_view(const cluster_view& before, size_t me_before) {
  take_up_slices();
  seams_.on_view();
  const bool window_changed = windows_.on_view();
  segments_.stop();
  for (const auto& one : spans_.all())
    for (const auto& lane : makers_.lanes_of(one.elements))
      seat_.exchange->set_sources(tensor_kind::gradient, one.version, lane,
                                  gradient_sources(one.version, lane));
  if (!seat_.computes())
    seat_.exchange->dismiss(tensor_kind::parameters, {});
  else if (!before.computes(me_before) || window_changed)
    gather_from(std::nullopt);
  if (!actors_.have_begun() && seat_.computes())
    return;
  const auto fresh = beginners(before, me_before);
  for (const auto i : fresh)
    actors_.restart_replica(seat_.view.replicas[i].index);
  actors_.tell_replicas(held_.value_or(seat_.view.start_version));
  for (const auto i : fresh) {
    announce_to(i);
    courses_.pass_on_to(seat_.view.replicas[i].index);
  }
  begin_split();
}

void marching::begin_split() {
  if (!held_)
    return;
  seams_.begin(*held_);
  segments_.begin(*held_);
  seams_.expect_due(courses_.final_version());
}

// Versions pass by a replica without slices: what it knows of them is old, if anything. A group's
// members may be others now, and what they sent each other is kept by nobody.
std::vector<size_t> marching::beginners(const cluster_view& before, size_t me_before) const {
  std::vector<size_t> result;
  for (size_t i = 0; i < seat_.view.replicas.size() && held_; ++i) {
    const auto& place = seat_.view.replicas[i];
    const bool had_slices = std::ranges::any_of(before.replicas, [&](const replica_place& other) {
      return other.member == me_before && other.index == place.index && !other.slices.empty();
    });
    if (seat_.is_mine(place) && !place.slices.empty() && (!had_slices || !place.segments.empty()))
      result.push_back(i);
  }
  return result;
}

// ---- Versions ----

void marching::gather_from(std::optional<uint64_t> first) {
  actors_.set_begun(false);
  segments_.stop();
  held_.reset();
  wanted_ = first;
  parameters_ = {};
  seat_.exchange->dismiss(tensor_kind::parameters, {});
  if (!seat_.computes())
    return;
  expectation what;
  what.kind = tensor_kind::parameters;
  what.key = first.value_or(0);
  what.elements = {0, seat_.point_elements().end};
  what.newest = true;
  what.last_key = seat_.options.plan.last_version();
  for (const auto& place : seat_.view.shards) {
    const auto elements = seat_.span_of(place);
    for (const auto& range : {elements, seat_.point_of(elements)})
      if (seat_.is_mine(place))
        what.made_here.push_back(range);
      else if (!range.empty())
        what.sources.push_back({seat_.exchange.id_of(seat_.owner_of(place)), range});
  }
  what.memory = [this](const tensor_name& name) {
    return seat_.options.has_point ? float_window{with_point_->acquire(), 0}
                                   : spans_.versions().at(name.key);
  };
  if (seat_.options.has_point && !with_point_)
    with_point_ = std::make_shared<buffer_pool>(seat_.point_elements().end);
  what.needed = spans_.window();
  seat_.exchange->expect(std::move(what), seat_.now());
  // What local shards have announced already counts.
  seat_.exchange->offer_kept(tensor_kind::parameters, seat_.now());
}

// A local shard owns a version: others want it, and so do the replicas here.
void marching::on_parameter_span(const parameter_span& news) {
  auto* one = spans_.find(news.shard);
  if (!seat_.takes_part() || news.term != seat_.view.id.term || one == nullptr ||
      news.values.size() != one->elements.size())
    return;
  const kept_tensor version{.of = {tensor_kind::parameters, news.term, news.version, only_leaf, 0},
                            .first_element = one->elements.begin,
                            .values = news.values,
                            .newest_kept = kept_max,
                            .is_fetched = seat_.options.sharded};
  auto routes = windows_.routes_of(one->elements);
  seat_.exchange->publish(version, routes, seat_.now());
  auto point = version;
  point.first_element = seat_.point_of(one->elements).begin;
  point.values = news.point;
  const bool has_point = seat_.options.has_point && news.point.size() == news.values.size();
  for (auto& route : routes)
    route.elements = seat_.point_of(route.elements);
  if (has_point)
    seat_.exchange->publish(point, routes, seat_.now());
  if (news.version > one->version) {
    one->version = news.version;
    seat_.exchange->dismiss(tensor_kind::gradient, keys_before(news.version), one->elements);
    expect_gradients(*one);
    expect_block_sums(news.version);
  }
  seat_.exchange->offer(version, seat_.now());
  if (has_point)
    seat_.exchange->offer(point, seat_.now());
}

// Replicas hear of whole versions only, one after the other; after a jump they begin anew.
void marching::on_version(const tensor_arrived& news) {
  held_ = news.of.key;
  wanted_ = *held_ + 1;
  parameters_ = news.values.storage();
  sums_.drop_before(*held_);
  parts_.erase(parts_.begin(), parts_.lower_bound(*held_));
  seat_.exchange->forget(tensor_kind::gradient, keys_before(*held_));
  if (news.jump || !actors_.have_begun()) {
    actors_.restart_replicas();
    actors_.set_begun(true);
    actors_.tell_replicas(*held_);
    courses_.pass_on();
  }
  for (size_t i = 0; i < seat_.view.replicas.size(); ++i)
    if (seat_.is_mine(seat_.view.replicas[i]) && !seat_.view.replicas[i].slices.empty())
      announce_to(i);
  begin_split();
}

void marching::announce_to(size_t replica) const {
  const auto at = seat_.point_elements();
  for (size_t k = 0; k < seat_.view.shards.size(); ++k)
    if (const auto elements = seat_.span_of(seat_.view.shards[k]); !elements.empty())
      seat_.self->send(seat_.local.replicas[seat_.view.replicas[replica].index],
                       parameter_span{seat_.view.id.term, *held_, k,
                                      spans_.window()
                                        ? payload{parameters_, 0, 0} // they have the window
                                        : payload{parameters_, elements.begin, elements.size()},
                                      payload{parameters_, at.empty() ? 0 : at.begin, at.size()}});
}

// ---- What local shards wait for ----

std::vector<tensor_source> marching::gradient_sources(uint64_t step,
                                                      const index_range& lane) const {
  std::vector<tensor_source> result;
  for (size_t i = 0; i < seat_.view.replicas.size(); ++i) {
    const auto& place = seat_.view.replicas[i];
    if (seat_.is_mine(place) || !makers_.contributes(i, lane))
      continue;
    const auto peer = seat_.exchange.id_of(seat_.view.members[place.member].name);
    for (auto slice = place.slices.begin; slice < place.slices.end; ++slice) {
      if (!seat_.options.plan.slice_exists(step, slice))
        continue; // a step may have no rows for some
      if (!result.empty() && result.back().peer == peer && result.back().leaves.end == slice)
        ++result.back().leaves.end;
      else
        result.push_back({peer, lane, {slice, slice + 1}});
    }
  }
  return result;
}

void marching::expect_gradients(const local_span& one) {
  if (one.version >= seat_.options.plan.last_version())
    return;
  for (const auto& lane : makers_.lanes_of(one.elements)) {
    auto& pool = pools_[lane.size()];
    if (!pool)
      pool = std::make_shared<buffer_pool>(lane.size());
    expectation what;
    what.kind = tensor_kind::gradient;
    what.key = one.version;
    what.elements = lane;
    what.leaf_count = seat_.options.plan.slice_count;
    what.sources = gradient_sources(one.version, lane);
    // Recycled: at each step anew, memory of this size would come zeroed from the kernel.
    what.memory = [pool, begin = lane.begin](const tensor_name&) {
      return float_window{pool->acquire(), begin};
    };
    what.may_share = true;
    what.tells = seat_.options.sharded;
    seat_.exchange->expect(std::move(what), seat_.now());
  }
}

void marching::on_gradient(const tensor_arrived& news) {
  for (const auto& one : spans_.all())
    if (one.elements.contains(news.elements) && one.version == news.of.key)
      seat_.self->send(
        seat_.local.shards[one.local],
        contribution{news.of.key, news.of.node, news.elements.begin, news.values,
                     sums_of(news.note), news.note.remarks[0], news.of.term, false,
                     std::chrono::nanoseconds{static_cast<int64_t>(news.note.remarks[1])}});
}

// Others are asked for theirs once this process has its own: before that nobody waits.
void marching::expect_block_sums(uint64_t step) {
  if (seat_.options.block_numbers == 0 || spans_.all().empty() ||
      (sums_step_ && step <= *sums_step_) || step >= seat_.options.plan.last_version())
    return;
  sums_step_ = step;
  seat_.exchange->dismiss(tensor_kind::block_sums, keys_before(step));
  for (const auto& place : seat_.view.shards) {
    if (seat_.is_mine(place) || place.blocks.empty())
      continue;
    const auto elements = seat_.elements_of_sums(place.blocks);
    expectation what;
    what.kind = tensor_kind::block_sums;
    what.key = step;
    what.elements = elements;
    what.memory = [elements](const tensor_name&) {
      return float_window{buffer{elements.size()}, elements.begin};
    };
    seat_.exchange->expect(std::move(what), seat_.now());
  }
}

void marching::on_block_sums(const block_sums& news) {
  if (!seat_.takes_part() || seat_.options.block_numbers == 0)
    return;
  const index_range blocks{news.first_block,
                           news.first_block + news.numbers.size() / seat_.options.block_numbers};
  const auto elements = seat_.elements_of_sums(blocks);
  std::vector<tensor_route> routes;
  for (size_t i = 0; i < seat_.view.members.size(); ++i)
    if (i != *seat_.me && seat_.view.holds_spans(i))
      routes.push_back({seat_.exchange.id_of(seat_.view.members[i].name), elements});
  seat_.exchange->publish(
    {.of = {tensor_kind::block_sums, seat_.view.id.term, news.step, only_leaf, 0},
     .first_element = elements.begin,
     .values = in_elements(news.numbers),
     .newest_kept = kept_max},
    routes, seat_.now());
  for (const auto& place : seat_.view.shards)
    if (!seat_.is_mine(place) && !place.blocks.empty())
      seat_.exchange->set_sources(
        tensor_kind::block_sums, news.step, seat_.elements_of_sums(place.blocks),
        {{seat_.exchange.id_of(seat_.owner_of(place)), seat_.elements_of_sums(place.blocks)}});
}

void marching::on_sums_of_blocks(const tensor_arrived& news) const {
  for (const auto& one : spans_.all())
    seat_.self->send(
      seat_.local.shards[one.local],
      block_sums{news.of.key, seat_.block_of_sums(news.elements.begin), in_doubles(news.values)});
}

// Each begins with the owner behind itself: in one order for all, everybody would send to the first of them at once,
// whose interface is then the only one that works.
std::vector<tensor_route> marching::routes_of_spans() const {
  std::vector<tensor_route> result;
  std::vector<tensor_route> before;
  for (const auto& place : seat_.view.shards)
    if (const auto elements = seat_.span_of(place); !seat_.is_mine(place) && !elements.empty())
      (place.member < *seat_.me ? before : result)
        .push_back({seat_.exchange.id_of(seat_.owner_of(place)), elements});
  result.insert(result.end(), before.begin(), before.end());
  return result;
}

// ---- The exchange ----

void marching::on_arrived(const tensor_arrived& news) {
  if (news.of.kind == tensor_kind::gradient)
    on_gradient(news);
  else if (news.of.kind == tensor_kind::parameters && news.newest)
    on_version(news);
  else if (news.of.kind == tensor_kind::parameters)
    segments_.on_arrived(news);
  else if (news.of.kind == tensor_kind::block_sums)
    on_sums_of_blocks(news);
  else if (news.of.kind == tensor_kind::seam)
    seams_.on_arrived(news);
}

void marching::on_early(peer_id from, const tensor_piece& news) {
  if (news.of.kind == tensor_kind::seam)
    seams_.on_early(from, news);
}

void marching::on_conflict(const tensor_piece& news) {
  not_finite_report conflict;
  conflict.term = seat_.view.id.term;
  conflict.step = news.of.key;
  conflict.problem = step_problem::conflict;
  if (news.of.kind == tensor_kind::gradient) {
    conflict.what = "two different gradients of slice " + std::to_string(news.of.node.begin);
    conflict.has_slice = true;
    conflict.slice = news.of.node.begin;
    conflict.replica = news.note.remarks[0];
  } else if (news.of.kind == tensor_kind::block_sums)
    conflict.what = "two different sums over one block";
  else if (news.of.kind == tensor_kind::seam)
    conflict.what = "two different rows between segments of slice or chunk " +
                    std::to_string(seam_tensors::name_of(news.of.key, news.of.part).item);
  else
    conflict.what = "two different parameters of version " + std::to_string(news.of.key);
  outbox_.add(conflict);
}

// At the horizon nobody computes, and nothing of the step is missed. Who lacks gradients of
// somebody cannot have that one's parameters.
std::vector<awaited> marching::waits(moment, std::optional<uint64_t> horizon) const {
  std::map<peer_id, span_set> slices;
  std::map<peer_id, uint64_t> steps;
  std::map<peer_id, uint64_t> versions;
  for (const auto& [from, what] : seat_.exchange->awaited()) {
    if (what.of.kind == tensor_kind::gradient && (!horizon || what.of.key < *horizon)) {
      slices[from].add(what.of.node);
      steps[from] = what.of.key;
    } else if (what.of.kind == tensor_kind::parameters &&
               (held_ == what.of.key || // fetched: somebody computes with it
                (wanted_ == what.of.key && (!horizon || what.of.key <= *horizon))))
      versions[from] = std::min(what.of.key, versions.try_emplace(from, what.of.key).first->second);
  }
  const auto seams = seams_.waits(horizon);
  std::vector<awaited> result;
  for (const auto& [from, what] : seams)
    result.push_back({seat_.exchange.name_of(from), what});
  for (const auto& [from, missing] : slices)
    if (!seams.contains(from))
      result.push_back({seat_.exchange.name_of(from), "gradients of step " +
                                                        std::to_string(steps[from]) + ", " +
                                                        slices_text(missing.ranges())});
  for (const auto& [from, version] : versions)
    if (!slices.contains(from) && !seams.contains(from))
      result.push_back(
        {seat_.exchange.name_of(from), "parameters of version " + std::to_string(version)});
  return result;
}

} // namespace troupe
