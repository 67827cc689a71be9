// What a replica sends: its gradients, some of them piece by piece while they are being computed.

#include "actors/step/replica.hpp"

#include <algorithm>
#include <utility>

namespace troupe {

namespace {

// A message of its own for each shard, as a viewer draws it: to those of other processes goes one for all.
void trace_send(trace_ring* ring, const contribution& news, const index_range& shard,
                size_t index) {
  const traced_work work{
    ring, trace_kind::send, news.step, index,
    trace_flow{flow_content::gradient,
               {news.term, news.step, news.node.begin, news.node.end, shard.begin}}};
}

} // namespace

// Whoever adds a gradient as it comes has it in its cache, and keeps few of them.
bool replica_state::adds_here() const {
  const bool sends_over_wires = std::ranges::any_of(
    view_.shards, [](const shard_entry& x) { return !x.actor && !x.blocks.empty(); });
  return sends_over_wires || !options_.hooks.keeps_slices_apart;
}

bool replica_state::goes_over_wires(size_t element) const {
  for (size_t k = 0; k < elements_.size(); ++k)
    if (elements_[k].contains(element))
      return !view_.shards[k].actor;
  return false;
}

// To the last slice nothing will be added here. Hooks change a gradient that is whole.
bool replica_state::sends_early(uint64_t step, size_t slice) const {
  return view_.wired && adds_here() && slice + 1 == slices_.end &&
         options_.hooks.poisoned_step != step && options_.hooks.cut_step != step;
}

void replica_state::send_begun(uint64_t step, const partial_sum& part,
                               const index_range& elements) {
  contribution news{
    step,      part.node, elements.begin, payload{part.values, elements.begin, elements.size()},
    part.sums, index_,    view_.term};
  news.is_begun = true;
  news.computed = computed_for();
  reported_early_.add(elements);
  for (size_t k = 0; k < elements_.size(); ++k)
    if (!elements_[k].empty() && elements.contains(elements_[k].end - 1))
      trace_send(options_.trace.get(), news, elements_[k], k);
  self_->send(view_.relay, news);
}

std::chrono::nanoseconds replica_state::computed_for() const {
  return self_->clock().now() - times_.begin;
}

void replica_state::send(uint64_t step, const partial_sum& part) {
  const auto computed = computed_for();
  const auto share = [&](const index_range& elements) {
    const auto size = elements.size() - (options_.hooks.cut_step == step ? 1 : 0);
    return contribution{
      step,      part.node, elements.begin, payload{part.values, elements.begin, size},
      part.sums, index_,    view_.term,     false,
      computed};
  };
  for (size_t k = 0; k < elements_.size(); ++k) {
    if (elements_[k].empty())
      continue;
    const bool is_reported = part.node.end == slices_.end &&
                             reported_early_.contains({elements_[k].end - 1, elements_[k].end});
    auto news = share(elements_[k]);
    if (view_.shards[k].actor || !is_reported)
      trace_send(options_.trace.get(), news, elements_[k], k);
    if (view_.shards[k].actor)
      self_->send(view_.shards[k].actor, std::move(news));
  }
  if (view_.wired)
    self_->send(view_.relay, share({0, part.values.size()}));
}

// For other processes only: the shards of this one have the parts.
void replica_state::on_summation(const summation& news) {
  if (news.term != view_.term)
    return;
  std::vector<std::span<const float>> inputs;
  std::vector<batch_sums> sums;
  for (const auto& part : news.parts) {
    inputs.push_back(part.gradient_sum.values());
    sums.push_back(part.sums);
  }
  if (times_.step != news.step) // others computed all of it
    times_.begin = self_->clock().now();
  const auto whole = options_.gradients->acquire();
  reducer_.reduce(news.plan, inputs, whole.values());
  const contribution sum{news.step,
                         news.node,
                         0,
                         payload{whole, 0, whole.size()},
                         evaluate_plan(news.plan, sums),
                         index_,
                         news.term,
                         false,
                         computed_for()};
  for (size_t k = 0; k < elements_.size(); ++k)
    if (!elements_[k].empty() && !view_.shards[k].actor)
      trace_send(options_.trace.get(), sum, elements_[k], k);
  self_->send(view_.relay, sum);
}

} // namespace troupe
