// Local replicas' gradients, for the shards of other processes: as few and as large sums as there
// are.

#include "troupe/actors/node/node.hpp"

#include "troupe/coordinators/step/placement.hpp"

#include <algorithm>

namespace troupe {

not_finite_report node_state::malformed(const contribution& news) const {
  not_finite_report result;
  result.term = view_.id.term;
  result.step = news.step;
  result.what = "a gradient with " + std::to_string(news.gradient_sum.values().size()) +
                " values for a model of " + std::to_string(options_.network->layout().size());
  result.problem = step_problem::malformed;
  result.has_slice = true;
  result.slice = news.node.begin;
  result.replica = news.replica;
  return result;
}

// A part of what a replica owns, or a sum that it was asked for.
void node_state::on_contribution(const contribution& news) {
  if (!takes_part() || news.term != view_.id.term ||
      (gathering_.held() && news.step < *gathering_.held()))
    return;
  if (news.is_begun)
    return on_begun(news);
  if (news.gradient_sum.values().size() != options_.network->layout().size())
    return on_not_finite(malformed(news));
  auto& parts = parts_[news.step];
  std::erase_if(parts, [&](const contribution& part) { return part.node == news.node; });
  parts.push_back(news);
  carry_out(news.step, sums_.on_part(news.step, news.node));
}

void node_state::take_up_slices() {
  std::vector<index_range> slices;
  for (const auto& place : view_.replicas)
    if (me_ && place.member == *me_)
      slices.push_back(place.slices);
  for (const auto& [step, sums] : sums_.set_slices(slices))
    carry_out(step, sums);
}

void node_state::carry_out(uint64_t step, const std::vector<local_sums::sum>& sums) {
  for (const auto& one : sums) {
    auto& parts = parts_[step];
    if (one.parts.size() > 1)
      have_added(step, one);
    else if (const auto found = std::ranges::find(parts, one.node, &contribution::node);
             found != parts.end())
      send_sum(*found);
    std::erase_if(parts, [&](const contribution& part) { return one.node.contains(part.node); });
  }
}

// Whoever brought the last part has nothing to do until the step is complete.
void node_state::have_added(uint64_t step, const local_sums::sum& what) {
  summation order{view_.id.term, step, what.node, what.plan, {}};
  const auto& parts = parts_[step];
  for (const auto& node : what.parts)
    order.parts.push_back(*std::ranges::find(parts, node, &contribution::node));
  const auto last = parts.back().replica;
  const bool is_here = last < view_.replicas.size() && view_.replicas[last].member == *me_;
  self_->send(replicas_[is_here ? view_.replicas[last].index : 0], std::move(order));
}

void node_state::send_sum(const contribution& whole) {
  const auto* early = begun(whole.step, whole.node);
  const auto gone = early == nullptr ? span_set{} : early->sent;
  std::erase_if(begun_[whole.step],
                [&](const begun_gradient& x) { return x.whole.node == whole.node; });
  sent_[whole.step].push_back(whole);
  for (const auto& rest : gone.missing_in({0, whole.gradient_sum.values().size()}))
    send_to_shards(whole, rest);
}

// Values that are needed elsewhere and will not be added to anything here: why wait for the rest?
// What was asked for in the meantime is answered once the gradient is whole.
void node_state::on_begun(const contribution& news) {
  if (!sums_.goes_alone(news.step, news.node))
    return;
  auto* early = begun(news.step, news.node);
  if (early == nullptr) {
    auto whole = news;
    whole.first_element = 0;
    whole.gradient_sum = {news.gradient_sum.storage(), 0, options_.network->layout().size()};
    whole.is_begun = false;
    early = &begun_[news.step].emplace_back(begun_gradient{std::move(whole), {}});
  }
  early->whole.computed = news.computed;
  const index_range elements{news.first_element,
                             news.first_element + news.gradient_sum.values().size()};
  if (early->sent.add(elements))
    bytes_early_ += send_to_shards(early->whole, elements) * sizeof(float);
}

begun_gradient* node_state::begun(uint64_t step, const tree_node& what) {
  const auto found = begun_.find(step);
  if (found == begun_.end())
    return nullptr;
  const auto same = std::ranges::find_if(
    found->second, [&](const begun_gradient& x) { return x.whole.node == what; });
  return same == found->second.end() ? nullptr : &*same;
}

size_t node_state::send_to_shards(const contribution& work, const index_range& elements) {
  size_t result = 0;
  for (const auto& place : view_.shards) {
    const auto span = elements_of_blocks(place.blocks, options_.network->layout().size());
    const auto part = common_part(span, elements);
    if (place.member == *me_ || part.empty())
      continue;
    send_gradient(work, part, view_.members[place.member].name, false);
    result += part.size();
  }
  return result;
}

} // namespace troupe
