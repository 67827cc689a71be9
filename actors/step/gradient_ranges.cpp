#include "actors/step/gradient_ranges.hpp"

#include "models/math/lanes.hpp"

#include <algorithm>

namespace troupe {

namespace {

index_range elements_of(const contribution& news) {
  return {news.first_element, news.first_element + news.gradient_sum.size()};
}

contribution part_of(const contribution& news, const index_range& elements) {
  auto result = news;
  result.first_element = elements.begin;
  result.gradient_sum =
    news.gradient_sum.part(elements.begin - news.first_element, elements.size());
  return result;
}

// What is not a number has other bits on other processors and devices: the shard ends the run by it anyway.
bool is_same_work(const contribution& a, const contribution& b) {
  const auto is_finite = [](const contribution& x) {
    return all_finite(x.gradient_sum.values().data(), x.gradient_sum.size());
  };
  return (a.gradient_sum == b.gradient_sum && a.sums == b.sums) || (!is_finite(a) && !is_finite(b));
}

// The program that adds inputs one after the other.
reduction_plan in_order(const std::vector<size_t>& order) {
  reduction_plan plan;
  for (size_t k = 0; k < order.size(); ++k) {
    plan.operations.push_back(static_cast<int32_t>(order[k]));
    if (k > 0)
      plan.operations.push_back(reduction_plan::add);
  }
  return plan;
}

} // namespace

gradient_ranges::gradient_ranges(const timeline& plan, uint64_t version, const index_range& span,
                                 const std::vector<index_range>& tiles)
  : version_(version) {
  for (const auto& tile : tiles)
    if (const index_range common{std::max(tile.begin, span.begin), std::min(tile.end, span.end)};
        common.begin < common.end)
      ranges_.push_back({common, shard_rule{plan, version}, {}, {}, {}});
  if (tiles.empty())
    ranges_.push_back({span, shard_rule{plan, version}, {}, {}, {}});
}

bool gradient_ranges::fits(const contribution& news) const {
  const auto elements = elements_of(news);
  size_t covered = 0;
  for (const auto& x : ranges_)
    covered += elements.contains(x.elements) ? x.elements.size() : 0;
  return covered > 0 && covered == elements.size();
}

offer_verdict gradient_ranges::offer(const contribution& news) {
  std::optional<offer_verdict> result;
  for (auto& x : ranges_) {
    if (!elements_of(news).contains(x.elements))
      continue;
    const auto verdict = offer_to(x, ranges_.size() > 1 ? part_of(news, x.elements) : news);
    if (verdict == offer_verdict::conflict)
      return verdict;
    if (!result || verdict == offer_verdict::accepted)
      result = verdict;
  }
  return result.value_or(offer_verdict::malformed);
}

// Within a process there are no checksums: compares the values when the same work comes twice.
offer_verdict gradient_ranges::offer_to(range& x, const contribution& news) {
  const auto verdict = x.rule.offer(news.step, news.node, 0);
  if (verdict.verdict == offer_verdict::duplicate &&
      !is_same_work(*std::ranges::find(x.held, news.node, &contribution::node), news))
    return offer_verdict::conflict;
  if (verdict.verdict != offer_verdict::accepted)
    return verdict.verdict;
  const auto at = x.held.begin() + static_cast<std::ptrdiff_t>(verdict.position);
  x.held.erase(at, at + static_cast<std::ptrdiff_t>(verdict.dropped));
  x.held.insert(x.held.begin() + static_cast<std::ptrdiff_t>(verdict.position), news);
  std::erase_if(x.arrivals, [&](size_t place) {
    return place >= verdict.position && place < verdict.position + verdict.dropped;
  });
  for (auto& place : x.arrivals)
    place += place >= verdict.position ? 1 - verdict.dropped : 0;
  x.arrivals.push_back(verdict.position);
  x.plan = x.rule.complete();
  return offer_verdict::accepted;
}

bool gradient_ranges::is_complete() const {
  return std::ranges::all_of(ranges_, [](const range& x) { return x.plan.has_value(); });
}

std::vector<summed_range> gradient_ranges::sums(bool in_order_of_arrival) const {
  std::vector<summed_range> result;
  for (const auto& x : ranges_) {
    result.push_back({x.elements, in_order_of_arrival ? in_order(x.arrivals) : *x.plan, {}});
    for (const auto& part : x.held)
      result.back().inputs.push_back(part.gradient_sum.values());
  }
  return result;
}

batch_sums gradient_ranges::total() const {
  std::vector<batch_sums> sums;
  for (const auto& part : ranges_.front().held)
    sums.push_back(part.sums);
  return evaluate_plan(*ranges_.front().plan, sums);
}

std::vector<tree_node> gradient_ranges::nodes_of(const index_range& elements) const {
  return std::ranges::find(ranges_, elements, &range::elements)->rule.held();
}

void gradient_ranges::advance() {
  ++version_;
  for (auto& x : ranges_) {
    x.rule.advance();
    x.plan.reset();
    x.held.clear();
    x.arrivals.clear();
  }
}

} // namespace troupe
