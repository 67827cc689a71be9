// The processes of a small cluster as plain values: what a node does with the pure rules, without
// actors, wires or time. An event goes in, messages go out into an outbox.

#pragma once

#include "troupe/coordinators/exchange/gradient_gathering.hpp"
#include "troupe/coordinators/exchange/version_gathering.hpp"
#include "troupe/coordinators/membership/membership_rule.hpp"
#include "troupe/coordinators/run/hold_rule.hpp"
#include "troupe/coordinators/step/placement.hpp"
#include "troupe/coordinators/step/replica_rule.hpp"
#include "troupe/coordinators/step/shard_rule.hpp"
#include "troupe/tests/support/cluster_messages.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string>
#include <vector>

namespace troupe::test {

/// What all processes know without asking.
struct cluster_plan {
  timeline plan;
  std::array<index_range, shard_count> spans{{{0, 2}, {2, 4}}}; ///< elements
  size_t pieces_of_last_span = 1; ///< over a wire a span comes in so many pieces
  bool drops_outdated = false;    ///< messages that can do nothing any more are taken away at once
  size_t first_troubled = 0;      ///< the first replica that may crash

  std::vector<index_range> pieces(size_t shard) const {
    if (shard + 1 < shard_count || pieces_of_last_span == 1)
      return {spans[shard]};
    return {{spans[shard].begin, spans[shard].begin + 1},
            {spans[shard].begin + 1, spans[shard].end}};
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

inline constexpr size_t versions_max = gathered_versions_max + 1;

struct replica_process {
  replica_process(const cluster_plan& known, size_t which)
    : id(which),
      parameters({known.spans.begin(), known.spans.end()}, 0),
      rule(known.plan, shard_count) {
    rule.set_horizon({known.plan.last_version(), true});
  }

  size_t id;
  bool alive = true;
  cluster_view view{};
  version_gathering parameters;
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
    if (parameters.offer(what.version, what.elements) != gather_verdict::accepted)
      return;
    const auto k = shard_of(known, what.elements);
    values[what.version % versions_max][k] = what.value;
    if (const auto whole = parameters.take_whole()) {
      if (whole->jump)
        begin_anew(known, whole->version);
      for (size_t shard = 0; shard < shard_count; ++shard)
        rule.announce(whole->version, shard);
    }
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
      for (size_t k = 0; k < shard_count; ++k)
        if (replica_count + k == what.from)
          send(known, asked, k, out);
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
    for (const auto& elements : parameters.missing())
      out.push_back({.kind = message_kind::want_parameters,
                     .to = replica_count + (elements.begin < 2 ? 0u : 1u),
                     .from = id,
                     .version = *parameters.wanted()});
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
      send(known, range, k, out);
  }

  void send(const cluster_plan& known, const index_range& range, size_t shard, outbox& out) const {
    const auto step = rule.version();
    for (const auto& node : largest_nodes(known.plan.slice_count, range))
      if (known.has_rows(step, node))
        for (const auto& elements : known.pieces(shard))
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
  shard_process(const cluster_plan& known, size_t which)
    : index(which),
      rule(known.plan),
      gathering(known.plan, known.spans[which], 0),
      values{derive({3, which}), {}} {}

  size_t index;
  cluster_view view{};
  shard_rule rule;
  gradient_gathering gathering;
  std::vector<content> held{};   ///< of rule.held()
  std::array<content, 2> values; ///< of even and odd versions
  uint64_t horizon = ~uint64_t{0};

  friend bool operator==(const shard_process&, const shard_process&) = default;

  content value() const { return values[rule.version() % 2]; }
  bool keeps(uint64_t version) const {
    return version == rule.version() || version + 1 == rule.version();
  }

  void on_view(const cluster_view& newer) {
    if (view.id < newer.id)
      view = newer;
  }

  void on_contribution(const cluster_plan& known, const message& what, outbox& out) {
    if (!gathering.offer(what.version, what.node, what.elements).whole)
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
    gathering.advance(rule.version());
    held.clear();
    values[rule.version() % 2] = next;
    announce(known, out);
  }

  // Whoever has been away cannot know what there is: both versions.
  void on_want(const cluster_plan& known, const message& what, outbox& out) const {
    if (rule.version() > 0)
      send(known, what.from, rule.version() - 1, out);
    send(known, what.from, rule.version(), out);
  }

  void announce(const cluster_plan& known, outbox& out) const {
    for (size_t i = 0; i < replica_count; ++i)
      send(known, i, rule.version(), out);
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
    for (const auto& place : view.replicas)
      for (const auto& slices : gathering.missing({place.slices}))
        for (size_t i = 0; i < replica_count; ++i)
          if (view.members[place.member].name == process_names[i])
            out.push_back({.kind = message_kind::want_gradients,
                           .to = i,
                           .from = replica_count + index,
                           .version = rule.version(),
                           .node = slices});
  }

private:
  // To members of its own view only: whoever is out gets no further.
  void send(const cluster_plan& known, size_t replica, uint64_t version, outbox& out) const {
    if (view.find(process_names[replica]))
      for (const auto& elements : known.pieces(index))
        out.push_back({.kind = message_kind::parameters,
                       .to = replica,
                       .from = 0,
                       .version = version,
                       .elements = elements,
                       .value = values[version % 2]});
  }
};

struct director_process {
  membership_rule members;
  hold_rule stop{};
  uint64_t stop_version = ~uint64_t{0}; ///< once named

  friend bool operator==(const director_process&, const director_process&) = default;

  const cluster_view& view() const { return *members.view(); }

  void on_loss(size_t process, outbox& out) {
    for (const auto& decision : members.on_lost(process_names[process], 1, {}))
      if (const auto* published = std::get_if<publish>(&decision)) {
        for (size_t to = 0; to < process_names.size(); ++to)
          send_view(to, out);
        carry_out(stop.on_view(published->view), out);
      }
  }

  void on_stop_requested(outbox& out) { carry_out(stop.on_stop_requested(), out); }

  void on_held(const message& what, outbox& out) {
    hold_answer answer{process_names[what.from], what.view, 0, {}};
    if (what.from < replica_count)
      answer.next_step = what.version;
    else
      answer.shard_versions = {what.version};
    carry_out(stop.on_held(answer), out);
  }

  void send_view(size_t to, outbox& out) const {
    if (view().find(process_names[to]))
      out.push_back({.kind = message_kind::view, .to = to, .news = view()});
  }

  void send_horizon(size_t to, outbox& out) const {
    out.push_back({.kind = message_kind::horizon, .to = to, .version = stop_version});
  }

  void ask(const std::vector<std::string>& names, outbox& out) const {
    for (size_t to = 0; to < process_names.size(); ++to)
      if (std::ranges::count(names, process_names[to]) > 0)
        out.push_back({.kind = message_kind::hold, .to = to, .view = view().id});
  }

private:
  void carry_out(const hold_decisions& decisions, outbox& out) {
    for (const auto& decision : decisions) {
      if (const auto* asked = std::get_if<ask_to_hold>(&decision)) {
        ask(asked->names, out);
        continue;
      }
      stop_version = std::get<stop_at>(decision).version;
      for (const auto& who : view().members)
        send_horizon(
          static_cast<size_t>(std::ranges::find(process_names, who.name) - process_names.begin()),
          out);
    }
  }
};

} // namespace troupe::test
