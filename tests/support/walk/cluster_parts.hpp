// The replicas and shards of a small cluster as plain values: what a node does with the pure rules,
// without actors, wires or time. An event goes in, messages go out into an outbox.

#pragma once

#include "coordinators/exchange/expected_tensor.hpp"
#include "coordinators/exchange/tensor_name.hpp"
#include "coordinators/membership/cluster_view.hpp"
#include "coordinators/step/placement.hpp"
#include "coordinators/step/replica_rule.hpp"
#include "coordinators/step/shard_rule.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <compare>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace troupe::test {

// What the processes of a small cluster tell each other, as plain values. Parameters are names for
// what they came from, so that equal names mean equal bits.

/// What a value came from: a number that two different histories share with negligible chance.
struct content {
  uint64_t id = 0;

  friend auto operator<=>(const content&, const content&) = default;
};

inline content derive(std::initializer_list<uint64_t> parts) {
  uint64_t id = 0x9E3779B97F4A7C15;
  for (auto part : parts) {
    id = (id ^ part) * 0xBF58476D1CE4E5B9;
    id ^= id >> 29;
  }
  return {id};
}

inline content operator+(content a, content b) {
  return derive({1, a.id, b.id});
}

/// The processes: replicas 0 and 1, shards 2 and 3, the director 4.
inline constexpr size_t replica_count = 2;
inline constexpr size_t shard_count = 2;
inline constexpr size_t director_process_id = 4;
inline const std::array<std::string, 4> process_names{"a", "b", "s", "t"};

inline size_t process_of(const std::string& name) {
  return static_cast<size_t>(std::ranges::find(process_names, name) - process_names.begin());
}

/// As exchanges number them.
inline peer_id peer_id_of(size_t process) {
  return static_cast<peer_id>(process);
}

enum class message_kind : uint8_t {
  parameters,
  contribution,
  want_parameters,
  want_gradients,
  view,
  loss,
  hold,
  held,
  horizon
};

/// Any message; each kind uses some of the fields.
struct message {
  message_kind kind{};
  size_t to = 0;
  size_t from = 0;
  uint64_t version = 0; ///< or step
  index_range elements{};
  tree_node node{}; ///< or slices
  content value{};
  bool or_newer = false; ///< of a want for parameters
  view_number view{};
  cluster_view news{}; ///< of kind view

  friend bool operator==(const message&, const message&) = default;
};

using outbox = std::vector<message>;

/// What all processes know without asking.
struct cluster_plan {
  timeline plan;
  std::array<index_range, shard_count> spans{{{0, 2}, {2, 4}}}; ///< elements
  size_t pieces_of_last_span = 1; ///< over a wire a span comes in so many pieces
  bool drops_outdated = false;    ///< messages that can do nothing any more are taken away at once
  size_t first_troubled = 0;      ///< the first replica that may crash

  /// Of a span that travels, those with elements that are wanted.
  std::vector<index_range> pieces(size_t shard, const index_range& wanted) const {
    const auto& span = spans[shard];
    std::vector<index_range> result{span};
    if (shard + 1 == shard_count && pieces_of_last_span > 1)
      result = {{span.begin, span.begin + 1}, {span.begin + 1, span.end}};
    std::erase_if(result, [&](const auto& x) { return shared_part(x, wanted).empty(); });
    return result;
  }
  bool has_rows(uint64_t step, const tree_node& node) const {
    for (auto slice = node.begin; slice < node.end; ++slice)
      if (plan.slice_exists(step, slice))
        return true;
    return false;
  }
};

inline size_t shard_of(const cluster_plan& plan, const index_range& elements) {
  return plan.spans[0].contains(elements) ? 0 : 1;
}

/// The elements of a message: their bits follow from the name of what they are.
inline tensor_piece piece_of(tensor_kind kind, const message& what) {
  const buffer storage{what.elements.size()};
  for (auto e = what.elements.begin; e < what.elements.end; ++e)
    storage.values()[e - what.elements.begin] =
      std::bit_cast<float>(static_cast<uint32_t>(derive({what.value.id, e}).id));
  const auto node = kind == tensor_kind::gradient ? what.node : only_leaf;
  return {{kind, 1, what.version, node}, what.elements.begin, {storage, 0, storage.size()}, {}, {}};
}

/// Offers the elements of a message; true when they were news. What became whole goes to `whole`.
inline bool offer_to(expected_tensor& wanted, const message& what,
                     std::optional<tensor_arrived>& whole) {
  const auto verdict = wanted.offer(piece_of(wanted.kind(), what), {});
  if (verdict == piece_verdict::conflict)
    throw std::logic_error{"equal work gave different bits"};
  std::vector<exchange_effect> news;
  wanted.take_arrived(news);
  if (!news.empty())
    whole = std::get<tensor_arrived>(news.front());
  return verdict == piece_verdict::accepted;
}

/// Copies of a process share it: what an element of a tensor is does not depend on what happened.
inline tensor_memory memory_of(const index_range& elements) {
  return [=](const tensor_name&) { return float_window{buffer{elements.size()}, elements.begin}; };
}

inline constexpr size_t versions_max = gathered_keys_max + 1;

inline expected_tensor newest_parameters(const cluster_plan& known) {
  expectation what;
  what.kind = tensor_kind::parameters;
  what.elements = {0, known.spans.back().end};
  what.newest = true;
  what.last_key = known.plan.last_version();
  for (size_t k = 0; k < shard_count; ++k)
    what.sources.push_back({peer_id_of(replica_count + k), known.spans[k]});
  what.memory = memory_of(what.elements);
  return {std::move(what), {}};
}

struct replica_process {
  replica_process(const cluster_plan& known, size_t which)
    : id(which), parameters(newest_parameters(known)), rule(known.plan, shard_count) {
    rule.set_horizon({known.plan.last_version(), true});
  }

  size_t id;
  bool alive = true;
  cluster_view view{};
  expected_tensor parameters;
  std::optional<uint64_t> held{}; ///< the newest version that is whole here
  replica_rule rule;
  /// By version; the one held and those that are gathered are fewer.
  std::array<std::array<content, shard_count>, versions_max> values{};
  bool holds = false;
  uint64_t horizon = ~uint64_t{0}; ///< the named version, once told

  friend bool operator==(const replica_process&, const replica_process&) = default;

  index_range slices() const {
    const auto member = view.find(process_names[id]);
    for (const auto& place : view.replicas)
      if (member && place.member == *member)
        return place.slices;
    return {};
  }

  uint64_t first_not_started() const { return replica_rule{rule}.hold(); }

  void on_parameters(const cluster_plan& known, const message& what, outbox& out) {
    std::optional<tensor_arrived> whole;
    if (!offer_to(parameters, what, whole))
      return;
    values[what.version % versions_max][shard_of(known, what.elements)] = what.value;
    if (!whole)
      return;
    held = whole->of.key;
    if (whole->jump)
      begin_anew(known, *held);
    for (size_t shard = 0; shard < shard_count; ++shard)
      rule.announce(*held, shard);
    advance(known, out);
  }

  void on_view(const cluster_plan& known, const cluster_view& newer, outbox& out) {
    if (newer.id <= view.id)
      return;
    const auto before = slices();
    view = newer;
    const auto now = slices();
    if (first_not_started() > rule.version()) // its part of the step is out already
      for (auto slice = now.begin; slice < now.end; ++slice)
        if (!before.contains(slice))
          contribute(known, {slice, slice + 1}, out);
  }

  void on_want(const cluster_plan& known, const message& what, outbox& out) {
    if (what.version != rule.version() || first_not_started() == rule.version())
      return;
    const auto mine = slices();
    const index_range asked{std::max(mine.begin, what.node.begin),
                            std::min(mine.end, what.node.end)};
    if (asked.begin < asked.end)
      send(known, asked, what.from - replica_count, what.elements, out);
  }

  void on_hold(const message& what, outbox& out) {
    if (view.id < what.view)
      return; // asked again when the view has come
    holds = true;
    out.push_back({.kind = message_kind::held,
                   .to = director_process_id,
                   .from = id,
                   .version = rule.hold(),
                   .view = view.id});
  }

  void on_horizon(const cluster_plan& known, uint64_t version, outbox& out) {
    horizon = version;
    holds = false;
    rule.set_horizon({version, true});
    advance(known, out);
  }

  void repair(outbox& out) const {
    parameters.ask(1, [&](peer_id peer, tensor_want&& question) {
      for (const auto& elements : question.elements)
        out.push_back({.kind = message_kind::want_parameters,
                       .to = static_cast<size_t>(peer),
                       .from = id,
                       .version = question.of.key,
                       .elements = elements,
                       .or_newer = question.or_newer});
    });
  }

private:
  // The others have gone on: what it missed is over.
  void begin_anew(const cluster_plan& known, uint64_t version) {
    rule = replica_rule{known.plan, shard_count, version};
    if (!holds)
      rule.set_horizon({std::min(horizon, known.plan.last_version()), true});
  }

  void advance(const cluster_plan& known, outbox& out) {
    for (auto what = rule.next(); what != replica_rule::action::wait; what = rule.next())
      if (what == replica_rule::action::compute)
        contribute(known, slices(), out);
  }

  void contribute(const cluster_plan& known, const index_range& range, outbox& out) const {
    for (size_t k = 0; k < shard_count; ++k)
      send(known, range, k, known.spans[k], out);
  }

  void send(const cluster_plan& known, const index_range& range, size_t shard,
            const index_range& wanted, outbox& out) const {
    const auto step = rule.version();
    for (const auto& node : largest_nodes(known.plan.slice_count, range))
      if (known.has_rows(step, node))
        for (const auto& elements : known.pieces(shard, wanted))
          out.push_back({.kind = message_kind::contribution,
                         .to = replica_count + shard,
                         .from = 0, // its content is good whoever sends it
                         .version = step,
                         .elements = elements,
                         .node = node,
                         .value = gradient(known, step, node, shard)});
  }

  content gradient(const cluster_plan& known, uint64_t step, const tree_node& node,
                   size_t shard) const {
    std::vector<tree_node> leaves;
    std::vector<content> inputs;
    for (auto slice = node.begin; slice < node.end; ++slice)
      if (known.plan.slice_exists(step, slice)) {
        leaves.push_back({slice, slice + 1});
        const auto& from = values[step % versions_max];
        inputs.push_back(derive({2, step, slice, shard, from[0].id, from[1].id}));
      }
    const auto plan = plan_reduction(node.end, leaves, [&](size_t slice) {
      return slice >= node.begin && known.plan.slice_exists(step, slice);
    });
    return evaluate_plan(plan.value(), inputs);
  }
};

struct shard_process {
  shard_process(const cluster_plan& known, size_t which, const cluster_view& first)
    : index(which), view(first), rule(known.plan), values{derive({3, which}), {}} {
    expect_gradients(known);
  }

  size_t index;
  cluster_view view;
  shard_rule rule;
  std::optional<expected_tensor> gradients{}; ///< of rule.version(); none of the last
  std::vector<content> held{};                ///< of rule.held()
  std::array<content, 2> values;              ///< of even and odd versions
  uint64_t horizon = ~uint64_t{0};

  friend bool operator==(const shard_process&, const shard_process&) = default;

  content value() const { return values[rule.version() % 2]; }
  bool keeps(uint64_t version) const {
    return version == rule.version() || version + 1 == rule.version();
  }

  void on_view(const cluster_plan& known, const cluster_view& newer) {
    if (newer.id <= view.id)
      return;
    view = newer;
    if (gradients)
      gradients->set_sources(sources(known));
  }

  void on_contribution(const cluster_plan& known, const message& what, outbox& out) {
    std::optional<tensor_arrived> whole;
    if (!gradients || !offer_to(*gradients, what, whole) || !whole)
      return;
    const auto offered = rule.offer(what.version, what.node, what.value.id);
    if (offered.verdict == offer_verdict::conflict)
      throw std::logic_error{"equal work gave different bits"};
    if (offered.verdict != offer_verdict::accepted)
      return;
    const auto at = held.begin() + static_cast<std::ptrdiff_t>(offered.position);
    held.insert(held.erase(at, at + static_cast<std::ptrdiff_t>(offered.dropped)), what.value);
    const auto plan = rule.complete();
    if (!plan)
      return;
    const auto next = derive({4, value().id, evaluate_plan(*plan, held).id});
    rule.advance();
    held.clear();
    expect_gradients(known);
    values[rule.version() % 2] = next;
    announce(known, out);
  }

  void on_want(const cluster_plan& known, const message& what, outbox& out) const {
    for (auto version = what.version; version <= rule.version(); ++version)
      if (keeps(version) && (what.or_newer || version == what.version))
        send(known, what.from, version, what.elements, out);
  }

  void announce(const cluster_plan& known, outbox& out) const {
    for (size_t i = 0; i < replica_count; ++i)
      send(known, i, rule.version(), known.spans[index], out);
  }

  void on_hold(const message& what, outbox& out) const {
    if (view.id < what.view)
      return;
    out.push_back({.kind = message_kind::held,
                   .to = director_process_id,
                   .from = replica_count + index,
                   .version = rule.version(),
                   .view = view.id});
  }

  void repair(outbox& out) const {
    if (gradients)
      gradients->ask(1, [&](peer_id peer, tensor_want&& question) {
        for (const auto& elements : question.elements)
          out.push_back({.kind = message_kind::want_gradients,
                         .to = static_cast<size_t>(peer),
                         .from = replica_count + index,
                         .version = question.of.key,
                         .elements = elements,
                         .node = question.of.node});
      });
  }

private:
  void expect_gradients(const cluster_plan& known) {
    gradients.reset();
    if (rule.version() >= known.plan.last_version())
      return;
    expectation what;
    what.kind = tensor_kind::gradient;
    what.key = rule.version();
    what.elements = known.spans[index];
    what.leaf_count = known.plan.slice_count;
    what.sources = sources(known);
    what.memory = memory_of(what.elements);
    what.may_share = true;
    gradients.emplace(std::move(what), moment{});
  }

  /// Who has which slices that exist in this step: of two they are one range.
  std::vector<tensor_source> sources(const cluster_plan& known) const {
    std::vector<tensor_source> result;
    for (const auto& place : view.replicas) {
      auto slices = place.slices;
      while (!slices.empty() && !known.plan.slice_exists(rule.version(), slices.begin))
        ++slices.begin;
      while (!slices.empty() && !known.plan.slice_exists(rule.version(), slices.end - 1))
        --slices.end;
      if (!slices.empty())
        result.push_back(
          {peer_id_of(process_of(view.members[place.member].name)), known.spans[index], slices});
    }
    return result;
  }

  // To members of its own view only: whoever is out gets no further.
  void send(const cluster_plan& known, size_t replica, uint64_t version, const index_range& wanted,
            outbox& out) const {
    if (view.find(process_names[replica]))
      for (const auto& elements : known.pieces(index, wanted))
        out.push_back({.kind = message_kind::parameters,
                       .to = replica,
                       .from = 0,
                       .version = version,
                       .elements = elements,
                       .value = values[version % 2]});
  }
};

} // namespace troupe::test
