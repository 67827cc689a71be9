// Local replicas' gradients, for the shards of other processes: as few and as large sums as there
// are.

#include "actors/node/synchronous_work.hpp"

#include "models/segments/segment_chain.hpp"

#include <algorithm>

namespace troupe {

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

// A part of what a replica owns, or a sum that it was asked for.
void synchronous_work::on_contribution(const contribution& news) {
  if (!context_.takes_part() || news.term != context_.view.id.term || (held_ && news.step < *held_))
    return;
  if (news.is_begun)
    return on_begun(news);
  // Of some tiles, added over all slices that their group has; it may have none in this view.
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

// Whoever brought the last part has nothing to do until the step is complete.
void synchronous_work::have_added(uint64_t step, const local_sums::sum& what) {
  summation order{context_.view.id.term, step, what.node, what.plan, {}};
  const auto& parts = parts_[step];
  for (const auto& node : what.parts)
    order.parts.push_back(*std::ranges::find(parts, node, &contribution::node));
  const auto last = parts.back().replica;
  const auto& places = context_.view.replicas;
  const bool is_here = last < places.size() && context_.is_mine(places[last]);
  context_.self->send(context_.local.replicas[is_here ? places[last].index : 0], std::move(order));
}

// Its values leave as they are computed.
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
