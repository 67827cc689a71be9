// What the processes of a small cluster tell each other, as plain values. Parameters are names for
// what they came from, so that equal names mean equal bits.

#pragma once

#include "coordinators/exchange/tensor_name.hpp"
#include "coordinators/membership/cluster_view.hpp"

#include <algorithm>
#include <array>
#include <compare>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

namespace troupe::test {

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
inline peer_id peer_of(size_t process) {
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

} // namespace troupe::test
