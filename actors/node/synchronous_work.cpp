#include "actors/node/synchronous_work.hpp"

#include "models/segments/segment_chain.hpp"

#include <algorithm>
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

void synchronous_work::begin_term() {
  sums_ = local_sums{context_.options.plan};
  parts_.clear();
  sums_step_.reset();
  take_up_slices();
  boundaries_.on_view();
  windows_.on_view();
  segments_.stop();
  for (const auto& one : spans_.all())
    expect_gradients(one);
  expect_block_sums(context_.view.start_version);
  // A process that joins in the middle of a term does not know the others' version.
  gather_from(context_.view.id.number == 1 ? std::optional{context_.view.start_version}
                                           : std::nullopt);
}

void synchronous_work::on_view(const cluster_view& before, size_t me_before) {
  take_up_slices();
  boundaries_.on_view();
  const bool window_changed = windows_.on_view();
  segments_.stop();
  for (const auto& one : spans_.all())
    for (const auto& lane : makers_.ranges_of(one.elements))
      context_.exchange->set_sources(tensor_kind::gradient, one.version, lane,
                                     gradient_sources(one.version, lane));
  const bool follows = context_.gets_versions(*context_.me);
  if (!follows) {
    context_.exchange->dismiss(tensor_kind::parameters, {});
    held_.reset(); // others go on, and it does not see them
  } else if (!follows_ || window_changed)
    gather_from(std::nullopt);
  follows_ = follows;
  if (!actors_.have_begun() && follows)
    return;
  const auto fresh = beginners(before, me_before);
  for (const auto i : fresh)
    actors_.restart_replica(context_.view.replicas[i].index);
  actors_.tell_replicas(held_.value_or(context_.view.start_version));
  for (const auto i : fresh) {
    announce_to(i);
    directives_.pass_on_to(context_.view.replicas[i].index);
  }
  begin_split();
}

void synchronous_work::begin_split() {
  if (!held_)
    return;
  boundaries_.begin(*held_);
  segments_.begin(*held_);
  boundaries_.expect_due(directives_.final_version());
}

// A replica without slices gets no versions, so it begins anew. So do replicas of groups: the members may have changed,
// and no process keeps their earlier boundaries.
std::vector<size_t> synchronous_work::beginners(const cluster_view& before,
                                                size_t me_before) const {
  std::vector<size_t> result;
  for (size_t i = 0; i < context_.view.replicas.size() && held_; ++i) {
    const auto& place = context_.view.replicas[i];
    const bool had_slices = std::ranges::any_of(before.replicas, [&](const replica_place& other) {
      return other.member == me_before && other.index == place.index && !other.slices.empty();
    });
    if (context_.is_mine(place) && !place.slices.empty() &&
        (!had_slices || !place.segments.empty()))
      result.push_back(i);
  }
  return result;
}

// ---- Versions ----

void synchronous_work::gather_from(std::optional<uint64_t> first) {
  actors_.set_begun(false);
  segments_.stop();
  held_.reset();
  wanted_ = first;
  parameters_ = {};
  context_.exchange->dismiss(tensor_kind::parameters, {});
  follows_ = context_.gets_versions(*context_.me);
  if (!follows_)
    return;
  expectation what;
  what.kind = tensor_kind::parameters;
  what.key = first.value_or(0);
  what.elements = {0, context_.point_elements().end};
  what.newest = true;
  what.last_key = context_.options.plan.last_version();
  for (const auto& place : context_.view.shards) {
    const auto elements = context_.span_of(place);
    for (const auto& range : {elements, context_.point_of(elements)})
      if (context_.is_mine(place))
        what.made_here.push_back(range);
      else if (!range.empty())
        what.sources.push_back({context_.exchange.id_of(context_.owner_of(place)), range});
  }
  what.memory = [this](const tensor_name& name) {
    return context_.options.has_point ? float_window{with_point_->acquire(), 0}
                                      : spans_.versions().at(name.key);
  };
  if (context_.options.has_point && !with_point_)
    with_point_ = std::make_shared<buffer_pool>(context_.point_elements().end);
  what.needed = spans_.window();
  context_.exchange->expect(std::move(what), context_.now());
  // Versions that local shards have already announced count, too.
  context_.exchange->offer_kept(tensor_kind::parameters, context_.now());
}

// A local shard owns a version: publishes it for other processes, and offers it for the version gathered here.
void synchronous_work::on_parameter_span(const parameter_span& news) {
  auto* one = spans_.find(news.shard);
  if (!context_.takes_part() || news.term != context_.view.id.term || one == nullptr ||
      news.values.size() != one->elements.size())
    return;
  const kept_tensor version{.of = {tensor_kind::parameters, news.term, news.version, only_leaf, 0},
                            .first_element = one->elements.begin,
                            .values = news.values,
                            .newest_kept = kept_max,
                            .is_fetched = context_.options.sharded};
  auto routes = windows_.routes_of(one->elements);
  context_.exchange->publish(version, routes, context_.now());
  auto point = version;
  point.first_element = context_.point_of(one->elements).begin;
  point.values = news.point;
  const bool has_point = context_.options.has_point && news.point.size() == news.values.size();
  for (auto& route : routes)
    route.elements = context_.point_of(route.elements);
  if (has_point)
    context_.exchange->publish(point, routes, context_.now());
  if (news.version > one->version) {
    one->version = news.version;
    context_.exchange->dismiss(tensor_kind::gradient, keys_before(news.version), one->elements);
    expect_gradients(*one);
    expect_block_sums(news.version);
  }
  context_.exchange->offer(version, context_.now());
  if (has_point)
    context_.exchange->offer(point, context_.now());
}

// Replicas get whole versions only, one after the other; after a jump they begin anew.
void synchronous_work::on_version(const tensor_arrived& news) {
  held_ = news.of.key;
  wanted_ = *held_ + 1;
  parameters_ = news.values.storage();
  sums_.drop_before(*held_);
  parts_.erase(parts_.begin(), parts_.lower_bound(*held_));
  context_.exchange->forget(tensor_kind::gradient, keys_before(*held_));
  if (news.jump || !actors_.have_begun()) {
    actors_.restart_replicas();
    actors_.set_begun(true);
    actors_.tell_replicas(*held_);
    directives_.pass_on();
  }
  for (size_t i = 0; i < context_.view.replicas.size(); ++i)
    if (context_.is_mine(context_.view.replicas[i]) && !context_.view.replicas[i].slices.empty())
      announce_to(i);
  begin_split();
}

void synchronous_work::announce_to(size_t replica) const {
  const auto at = context_.point_elements();
  for (size_t k = 0; k < context_.view.shards.size(); ++k)
    if (const auto elements = context_.span_of(context_.view.shards[k]); !elements.empty())
      context_.self->send(
        context_.local.replicas[context_.view.replicas[replica].index],
        parameter_span{context_.view.id.term, *held_, k,
                       spans_.window() ? payload{parameters_, 0, 0} // replicas have the window
                                       : payload{parameters_, elements.begin, elements.size()},
                       payload{parameters_, at.empty() ? 0 : at.begin, at.size()}});
}

// ---- Tensors for local shards ----

std::vector<tensor_source> synchronous_work::gradient_sources(uint64_t step,
                                                              const index_range& lane) const {
  std::vector<tensor_source> result;
  for (size_t i = 0; i < context_.view.replicas.size(); ++i) {
    const auto& place = context_.view.replicas[i];
    if (context_.is_mine(place) || !makers_.contributes(i, lane))
      continue;
    const auto peer = context_.exchange.id_of(context_.view.members[place.member].name);
    for (auto slice = place.slices.begin; slice < place.slices.end; ++slice) {
      if (!context_.options.plan.slice_exists(step, slice))
        continue; // a step may have no rows for some
      if (!result.empty() && result.back().peer == peer && result.back().leaves.end == slice)
        ++result.back().leaves.end;
      else
        result.push_back({peer, lane, {slice, slice + 1}});
    }
  }
  return result;
}

void synchronous_work::expect_gradients(const local_span& one) {
  if (one.version >= context_.options.plan.last_version())
    return;
  for (const auto& lane : makers_.ranges_of(one.elements)) {
    auto& pool = pools_[lane.size()];
    if (!pool)
      pool = std::make_shared<buffer_pool>(lane.size());
    expectation what;
    what.kind = tensor_kind::gradient;
    what.key = one.version;
    what.elements = lane;
    what.leaf_count = context_.options.plan.slice_count;
    what.sources = gradient_sources(one.version, lane);
    // Recycled: at each step anew, memory of this size would come zeroed from the kernel.
    what.memory = [pool, begin = lane.begin](const tensor_name&) {
      return float_window{pool->acquire(), begin};
    };
    what.may_share = true;
    what.tells = context_.options.sharded;
    context_.exchange->expect(std::move(what), context_.now());
  }
}

void synchronous_work::on_gradient(const tensor_arrived& news) {
  for (const auto& one : spans_.all())
    if (one.elements.contains(news.elements) && one.version == news.of.key)
      context_.self->send(
        context_.local.shards[one.local],
        contribution{news.of.key, news.of.node, news.elements.begin, news.values,
                     sums_of(news.note), news.note.remarks[0], news.of.term, false,
                     std::chrono::nanoseconds{static_cast<int64_t>(news.note.remarks[1])}});
}

// on_block_sums adds the sources: this process asks for others' sums once it has its own, because no shard waits
// before.
void synchronous_work::expect_block_sums(uint64_t step) {
  if (context_.options.block_numbers == 0 || spans_.all().empty() ||
      (sums_step_ && step <= *sums_step_) || step >= context_.options.plan.last_version())
    return;
  sums_step_ = step;
  context_.exchange->dismiss(tensor_kind::block_sums, keys_before(step));
  for (const auto& place : context_.view.shards) {
    if (context_.is_mine(place) || place.blocks.empty())
      continue;
    const auto elements = context_.elements_of_sums(place.blocks);
    expectation what;
    what.kind = tensor_kind::block_sums;
    what.key = step;
    what.elements = elements;
    what.memory = [elements](const tensor_name&) {
      return float_window{buffer{elements.size()}, elements.begin};
    };
    context_.exchange->expect(std::move(what), context_.now());
  }
}

// Sums of a shard that has not begun the term yet would be taken for those of the one that will: others get them, who may
// not have begun either, and never again.
void synchronous_work::on_block_sums(const block_sums& news) {
  if (!context_.takes_part() || context_.options.block_numbers == 0 ||
      news.term != context_.view.id.term)
    return;
  const index_range blocks{news.first_block,
                           news.first_block + news.numbers.size() / context_.options.block_numbers};
  const auto elements = context_.elements_of_sums(blocks);
  std::vector<tensor_route> routes;
  for (size_t i = 0; i < context_.view.members.size(); ++i)
    if (i != *context_.me && context_.view.holds_spans(i))
      routes.push_back({context_.exchange.id_of(context_.view.members[i].name), elements});
  context_.exchange->publish(
    {.of = {tensor_kind::block_sums, context_.view.id.term, news.step, only_leaf, 0},
     .first_element = elements.begin,
     .values = in_elements(news.numbers),
     .newest_kept = kept_max},
    routes, context_.now());
  for (const auto& place : context_.view.shards)
    if (!context_.is_mine(place) && !place.blocks.empty())
      context_.exchange->set_sources(tensor_kind::block_sums, news.step,
                                     context_.elements_of_sums(place.blocks),
                                     {{context_.exchange.id_of(context_.owner_of(place)),
                                       context_.elements_of_sums(place.blocks)}});
}

void synchronous_work::on_sums_of_blocks(const tensor_arrived& news) const {
  for (const auto& one : spans_.all())
    context_.self->send(context_.local.shards[one.local],
                        block_sums{news.of.key, context_.block_of_sums(news.elements.begin),
                                   in_doubles(news.values), context_.view.id.term});
}

// Each process begins with the owner behind itself. In one order for all, all processes would send to the first owner
// at once, and only its network interface would be busy.
std::vector<tensor_route> synchronous_work::routes_of_spans() const {
  std::vector<tensor_route> result;
  std::vector<tensor_route> before;
  for (const auto& place : context_.view.shards)
    if (const auto elements = context_.span_of(place);
        !context_.is_mine(place) && !elements.empty())
      (place.member < *context_.me ? before : result)
        .push_back({context_.exchange.id_of(context_.owner_of(place)), elements});
  result.insert(result.end(), before.begin(), before.end());
  return result;
}

// ---- The exchange ----

void synchronous_work::on_arrived(const tensor_arrived& news) {
  if (news.of.kind == tensor_kind::gradient)
    on_gradient(news);
  else if (news.of.kind == tensor_kind::parameters && news.newest)
    on_version(news);
  else if (news.of.kind == tensor_kind::parameters)
    segments_.on_arrived(news);
  else if (news.of.kind == tensor_kind::block_sums)
    on_sums_of_blocks(news);
  else if (news.of.kind == tensor_kind::boundary)
    boundaries_.on_arrived(news);
}

void synchronous_work::on_early(peer_id from, const tensor_piece& news) {
  if (news.of.kind == tensor_kind::boundary)
    boundaries_.on_early(from, news);
}

void synchronous_work::on_conflict(const tensor_piece& news) {
  not_finite_report conflict;
  conflict.term = context_.view.id.term;
  conflict.step = news.of.key;
  conflict.problem = step_problem::conflict;
  if (news.of.kind == tensor_kind::gradient) {
    conflict.what = "two different gradients of slice " + std::to_string(news.of.node.begin);
    conflict.has_slice = true;
    conflict.slice = news.of.node.begin;
    conflict.replica = news.note.remarks[0];
  } else if (news.of.kind == tensor_kind::block_sums)
    conflict.what = "two different sums over one block";
  else if (news.of.kind == tensor_kind::boundary)
    conflict.what = "two different rows between segments of slice or chunk " +
                    std::to_string(boundary_tensors::name_of(news.of.key, news.of.part).item);
  else if (news.of.kind == tensor_kind::copy)
    conflict.what = "two different copies of a span at version " + std::to_string(news.of.key);
  else
    conflict.what = "two different parameters of version " + std::to_string(news.of.key);
  outbox_.add(conflict);
}

// At the horizon no replica computes, so no gradient of that step is missing. For a process that owes gradients,
// parameters are not named: they cannot exist yet.
std::vector<awaited> synchronous_work::waits(moment, std::optional<uint64_t> horizon) const {
  std::map<peer_id, span_set> slices;
  std::map<peer_id, uint64_t> steps;
  std::map<peer_id, uint64_t> versions;
  for (const auto& [from, what] : context_.exchange->awaited()) {
    if (what.of.kind == tensor_kind::gradient && (!horizon || what.of.key < *horizon)) {
      slices[from].add(what.of.node);
      steps[from] = what.of.key;
    } else if (what.of.kind == tensor_kind::parameters &&
               (held_ == what.of.key || // fetched: a replica needs it now
                (wanted_ == what.of.key && (!horizon || what.of.key <= *horizon))))
      versions[from] = std::min(what.of.key, versions.try_emplace(from, what.of.key).first->second);
  }
  const auto boundaries = boundaries_.waits(horizon);
  std::vector<awaited> result;
  for (const auto& [from, what] : boundaries)
    result.push_back({context_.exchange.name_of(from), what});
  for (const auto& [from, missing] : slices)
    if (!boundaries.contains(from))
      result.push_back({context_.exchange.name_of(from), "gradients of step " +
                                                           std::to_string(steps[from]) + ", " +
                                                           slices_text(missing.ranges())});
  for (const auto& [from, version] : versions)
    if (!slices.contains(from) && !boundaries.contains(from))
      result.push_back(
        {context_.exchange.name_of(from), "parameters of version " + std::to_string(version)});
  return result;
}

namespace {

not_finite_report malformed(const node_context& context, const contribution& news) {
  not_finite_report result;
  result.term = context.view.id.term;
  result.step = news.step;
  result.what = "a gradient with " + std::to_string(news.gradient_sum.size()) +
                " values for a model of " + std::to_string(context.element_count());
  result.problem = step_problem::malformed;
  result.has_slice = true;
  result.slice = news.node.begin;
  result.replica = news.replica;
  return result;
}

} // namespace

// A gradient of a replica's own slices, or a sum that the node ordered.
void synchronous_work::on_contribution(const contribution& news) {
  if (!context_.takes_part() || news.term != context_.view.id.term || (held_ && news.step < *held_))
    return;
  if (news.is_begun)
    return on_begun(news);
  // A gradient of some tiles, added over all slices of its group, which may have none in this view.
  if (!context_.options.tiles.empty())
    return context_.exchange->publish(gradient_of(news), routes_of_spans(), context_.now());
  if (news.gradient_sum.size() != context_.element_count())
    return outbox_.add(malformed(context_, news));
  auto& parts = parts_[news.step];
  std::erase_if(parts, [&](const contribution& part) { return part.node == news.node; });
  parts.push_back(news);
  carry_out(news.step, sums_.on_part(news.step, news.node));
}

void synchronous_work::take_up_slices() {
  std::vector<index_range> slices;
  std::vector<partition> partitions;
  for (const auto& place : context_.view.replicas) {
    partitions.push_back(place.work());
    if (context_.is_mine(place))
      slices.push_back(place.slices);
  }
  makers_ = {context_.options.network->chain(), partitions, context_.options.tiles};
  for (const auto& [step, sums] : sums_.set_slices(slices))
    carry_out(step, sums);
}

void synchronous_work::carry_out(uint64_t step, const std::vector<local_sums::sum>& sums) {
  for (const auto& one : sums) {
    auto& parts = parts_[step];
    if (one.parts.size() > 1)
      have_added(step, one);
    else if (const auto found = std::ranges::find(parts, one.node, &contribution::node);
             found != parts.end())
      context_.exchange->publish(gradient_of(*found), routes_of_spans(), context_.now());
    std::erase_if(parts, [&](const contribution& part) { return one.node.contains(part.node); });
  }
}

// The replica that sent the last part adds the sum: it is idle until the step is complete.
void synchronous_work::have_added(uint64_t step, const local_sums::sum& what) {
  summation task{context_.view.id.term, step, what.node, what.plan, {}};
  const auto& parts = parts_[step];
  for (const auto& node : what.parts)
    task.parts.push_back(*std::ranges::find(parts, node, &contribution::node));
  const auto last = parts.back().replica;
  const auto& places = context_.view.replicas;
  const bool is_here = last < places.size() && context_.is_mine(places[last]);
  context_.self->send(context_.local.replicas[is_here ? places[last].index : 0], std::move(task));
}

// The gradient's values leave while the replica computes them.
void synchronous_work::on_begun(const contribution& news) {
  if (!sums_.goes_alone(news.step, news.node))
    return;
  const index_range elements{news.first_element, news.first_element + news.gradient_sum.size()};
  auto whole = news;
  whole.first_element = 0;
  whole.gradient_sum = {news.gradient_sum.storage(), 0, context_.element_count()};
  context_.exchange->grow(gradient_of(whole), elements, routes_of_spans(), context_.now());
}

kept_tensor synchronous_work::gradient_of(const contribution& work) const {
  auto note = note_of(work.sums);
  note.remarks = {work.replica, static_cast<uint64_t>(work.computed.count())};
  return {.of = {tensor_kind::gradient, context_.view.id.term, work.step, work.node, 0},
          .first_element = work.first_element,
          .values = work.gradient_sum,
          .note = note,
          .until_it_came = context_.options.sharded};
}

} // namespace troupe
