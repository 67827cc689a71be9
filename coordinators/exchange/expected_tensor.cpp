#include "coordinators/exchange/expected_tensor.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace troupe {

expected_tensor::expected_tensor(expectation what, moment now) : what_(std::move(what)) {
  if (what_.newest && (what_.parts.size() != 1 || what_.leaf_count != 1))
    throw std::invalid_argument("expected_tensor: the newest of several parts or leaves");
  if (what_.comes_unasked)
    clock_.restart(now);
}

piece_verdict expected_tensor::offer(const tensor_piece& news, moment now, bool is_own) {
  const index_range elements{news.first_element, news.first_element + news.values.size()};
  if (const auto verdict = judge_name(news.of); verdict != piece_verdict::accepted)
    return verdict;
  const auto meets = [&](const index_range& x) { return !shared_part(elements, x).empty(); };
  if (!meets(what_.elements) || (what_.needed && what_.needed->shared_with(elements).empty()) ||
      (!is_own && std::ranges::any_of(what_.made_here, meets)))
    return piece_verdict::unexpected;
  if (!has_room_for(news.of.key))
    return piece_verdict::stale;
  if (!news.values.intact())
    return piece_verdict::damaged;
  if (is_within_a_whole_sum(news.of))
    return piece_verdict::known;
  auto& place = place_for(news.of);
  const auto verdict = place.offer(news, what_.memory, what_.may_share);
  if (verdict != piece_verdict::accepted)
    return verdict;
  if (!is_own || what_.comes_unasked) // what is here says nothing of the rest
    clock_.restart(now);
  if (place.is_whole())
    tell_whole(place);
  return verdict;
}

piece_verdict expected_tensor::judge_name(const tensor_name& name) const {
  if (what_.newest && name.key > what_.last_key)
    return piece_verdict::malformed;
  if (name.key < what_.key)
    return piece_verdict::stale;
  if (name.key > what_.key && !what_.newest)
    return piece_verdict::early;
  if (!what_.parts.contains(name.part))
    return piece_verdict::unexpected;
  return is_tree_node(what_.leaf_count, name.node) ? piece_verdict::accepted
                                                   : piece_verdict::malformed;
}

// Only expectations of the newest have several keys, each of one tensor.
bool expected_tensor::has_room_for(uint64_t key) const {
  return !what_.newest || here_.size() < gathered_keys_max ||
         std::ranges::any_of(here_, [&](const auto& x) { return x.name().key <= key; });
}

void expected_tensor::make_room_for(uint64_t key) {
  const auto key_of = [](const arriving_tensor& x) { return x.name().key; };
  if (what_.newest && here_.size() == gathered_keys_max &&
      std::ranges::find(here_, key, key_of) == here_.end())
    here_.erase(std::ranges::min_element(here_, {}, key_of));
}

const arriving_tensor* expected_tensor::find(const tensor_name& name) const {
  const auto found = std::ranges::find(here_, name, &arriving_tensor::name);
  return found == here_.end() ? nullptr : &*found;
}

arriving_tensor& expected_tensor::place_for(const tensor_name& name) {
  make_room_for(name.key);
  const auto found = std::ranges::find(here_, name, &arriving_tensor::name);
  return found == here_.end() ? here_.emplace_back(name, what_.elements, what_.needed, what_.sink)
                              : *found;
}

bool expected_tensor::is_within_a_whole_sum(const tensor_name& name) const {
  return std::ranges::any_of(here_, [&](const arriving_tensor& x) {
    return x.name() != name && x.name().part == name.part && x.name().node.contains(name.node) &&
           x.name().key == name.key && x.is_whole();
  });
}

bool expected_tensor::is_complete() const {
  const auto whole = std::ranges::count_if(here_, &arriving_tensor::is_whole);
  return what_.leaf_count == 1 && static_cast<size_t>(whole) == what_.parts.size();
}

void expected_tensor::tell_whole(const arriving_tensor& x) {
  const auto name = x.name();
  const bool jump = what_.newest && name.key != what_.key;
  news_.push_back(
    {name, x.elements(), x.values(), x.note(), jump, what_.newest || is_complete(), what_.newest});
  if (what_.newest)
    what_.key = name.key + 1;
  // Older keys are not needed, nor the rest of a sum that is in this one.
  std::erase_if(here_, [&](const arriving_tensor& other) {
    auto part = other.name();
    const bool is_within = name.node.contains(std::exchange(part.node, name.node));
    return other.name().key < what_.key || (is_within && part == name && !other.is_whole());
  });
}

void expected_tensor::take_arrived(std::vector<exchange_effect>& out) {
  for (auto& one : news_)
    out.emplace_back(std::move(one));
  news_.clear();
}

bool expected_tensor::due(moment now) {
  if (what_.sources.empty()) {
    clock_.restart(now); // no peer to ask: patience begins with the first
    return false;
  }
  const bool result = !(what_.is_plain() && is_complete()) && clock_.due(now);
  times_asked_ += result ? 1 : 0;
  return result;
}

// For the newest also keys that came in part: if no peer has the wanted key any more, a want for
// that key alone does not complete them.
std::vector<uint64_t> expected_tensor::asked_keys() const {
  if (what_.newest && what_.key > what_.last_key)
    return {};
  std::vector<uint64_t> result{what_.key};
  if (what_.newest)
    for (const auto& x : here_)
      if (x.name().key != what_.key)
        result.push_back(x.name().key);
  return result;
}

std::vector<index_range> expected_tensor::missing_leaves(uint64_t key, uint64_t part,
                                                         const index_range& leaves) const {
  span_set covered;
  for (const auto& x : here_)
    if (x.name().key == key && x.name().part == part && x.is_whole())
      covered.add(x.name().node);
  return covered.missing_in(leaves);
}

std::vector<index_range> expected_tensor::missing_elements(const tensor_name& name) const {
  span_set leaves;
  span_set elements;
  const auto needed =
    what_.needed ? what_.needed->shared_with(what_.elements) : std::vector{what_.elements};
  for (const auto& x : here_) {
    if (x.name().key != name.key || x.name().part != name.part || x.is_whole() ||
        shared_part(x.name().node, name.node).empty())
      continue;
    leaves.add(x.name().node);
    for (const auto& range : needed)
      for (const auto& gap : x.here().missing_in(range))
        elements.add(gap);
  }
  return leaves.contains(name.node) ? elements.ranges() : needed;
}

} // namespace troupe
