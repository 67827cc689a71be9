// The director of a small cluster as a plain value: what it does with the pure rules, without
// actors, wires or time. An event goes in, messages go out into an outbox.

#pragma once

#include "troupe/coordinators/membership/membership_rule.hpp"
#include "troupe/coordinators/run/hold_rule.hpp"
#include "troupe/tests/support/walk/cluster_messages.hpp"

#include <algorithm>
#include <string>
#include <variant>
#include <vector>

namespace troupe::test {

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
        send_horizon(process_of(who.name), out);
    }
  }
};

} // namespace troupe::test
