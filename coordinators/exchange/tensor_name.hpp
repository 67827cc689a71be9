// Tensor names: what travels between processes, and how a process numbers its peers.
//
// What a tensor holds follows from its name alone. So a piece of it is good from any process, at
// any time, as often as it comes. Tensors that are a sum over the leaves of the canonical tree
// (canonical_tree.hpp) say which; all others have one leaf.

#pragma once

#include "coordinators/base/canonical_tree.hpp"
#include "models/base/names.hpp"

#include <array>
#include <compare>
#include <cstdint>
#include <numeric>

namespace troupe {

/// A peer's number in this process; the maker of its links numbers them. The director has a number
/// of its own: the process that hosts it has another.
enum class peer_id : uint32_t { director = 0 };

/// What a tensor is; its key and its part count within that.
enum class tensor_kind : uint8_t {
  gradient,   ///< key: the step; node: the slices that are added in it
  parameters, ///< key: the version
  state,      ///< key: the version; part: 0 the parameters, then the optimizer's slots
  task,       ///< key: the task's number; part: the vector
  result,     ///< key: the task's number; part: the vector
  block_sums, ///< key: the step; numbers of blocks, each a double in two elements
  boundary,   ///< key: the version; node, part: see coordinators/parallel/boundary_tensors.hpp
  model,      ///< key: the model's number (coordinators/modes/span_model.hpp)
  copy,       ///< of a term 0: the same in each; key, part: as of a state
};
inline constexpr size_t tensor_kind_count = 9;

template <>
struct name_table<tensor_kind> {
  static constexpr std::array entries{
    named(tensor_kind::gradient, "gradient"), named(tensor_kind::parameters, "parameters"),
    named(tensor_kind::state, "state"),       named(tensor_kind::task, "task"),
    named(tensor_kind::result, "result"),     named(tensor_kind::block_sums, "block_sums"),
    named(tensor_kind::boundary, "boundary"), named(tensor_kind::model, "model"),
    named(tensor_kind::copy, "copy")};
};

/// Bytes of tensors of each kind.
using bytes_of_kinds = std::array<uint64_t, tensor_kind_count>;

inline uint64_t sum_of(const bytes_of_kinds& x) {
  return std::accumulate(x.begin(), x.end(), uint64_t{0});
}

/// What a process sent to others since it began.
struct traffic {
  bytes_of_kinds bytes_sent{}; ///< of values, over wires
  uint64_t bytes_early = 0;    ///< of these, sent while their tensor was being computed
  uint64_t resends = 0;        ///< pieces sent because a process wanted them, and fetched again

  traffic& operator+=(const traffic& other) {
    for (size_t kind = 0; kind < tensor_kind_count; ++kind)
      bytes_sent[kind] += other.bytes_sent[kind];
    bytes_early += other.bytes_early;
    resends += other.resends;
    return *this;
  }
  friend bool operator==(const traffic&, const traffic&) = default;
};

/// The node of what is no sum.
inline constexpr tree_node only_leaf{0, 1};

struct tensor_name {
  tensor_kind kind = tensor_kind::gradient;
  uint64_t term = 0;
  uint64_t key = 0;
  tree_node node = only_leaf; ///< in a want: every node with one of these leaves
  uint64_t part = 0;

  friend auto operator<=>(const tensor_name&, const tensor_name&) = default;
};

/// What a tensor of this kind holds follows from its other names, whatever the term: its term is 0.
inline bool is_of_any_term(tensor_kind kind) {
  return kind == tensor_kind::copy;
}

/// Keys [begin, end).
struct key_range {
  uint64_t begin = 0;
  uint64_t end = UINT64_MAX;

  bool contains(uint64_t key) const { return begin <= key && key < end; }
};

inline key_range only_key(uint64_t key) {
  return {key, key + 1};
}

inline key_range keys_before(uint64_t end) {
  return {0, end};
}

/// What both ranges have; empty when they have nothing in common.
inline index_range shared_part(const index_range& a, const index_range& b) {
  const auto begin = a.begin > b.begin ? a.begin : b.begin;
  const auto end = a.end < b.end ? a.end : b.end;
  return {begin, end > begin ? end : begin};
}

} // namespace troupe
