// The canonical tree: in which order the gradients of a step's slices are added.
//
// Floating-point addition is not associative, so equal results need an equal order. The order is a
// binary tree over slice indices that depends on the number of slices alone: a range of n > 1
// slices splits at the largest power of two below n. A process that owns all slices below a node
// may add them and pass on the node's sum; the sum of two siblings is their parent's. Slices
// without rows do not exist: a node with one non-empty child is that child.

#pragma once

#include "models/base/index_range.hpp"
#include "models/math/reduction.hpp"
#include "models/math/tree_accumulator.hpp"

#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

namespace troupe {

/// A node of the tree: the slices below it.
using tree_node = index_range;

/// True when `node` is a node of the tree over `slice_count` slices.
bool is_tree_node(size_t slice_count, const tree_node& node);

/// True when `left` and `right` are the two children of a node of the tree.
bool are_siblings(size_t slice_count, const tree_node& left, const tree_node& right);

/// The largest nodes that lie within `range`, in order: what the owner of these slices may send.
std::vector<tree_node> largest_nodes(size_t slice_count, const index_range& range);

/// The program that adds the values of `held` (in order, disjoint) along the tree; input k is
/// held[k]. Nodes for which `exists` is false at all their slices are left out. Nothing when `held`
/// does not cover every existing slice, or when no slice exists.
std::optional<reduction_plan> plan_reduction(size_t slice_count, const std::vector<tree_node>& held,
                                             const std::function<bool(size_t)>& exists);

/// The value of a plan on values with `+`: for the few numbers that travel with a gradient.
template <class T>
T evaluate_plan(const reduction_plan& plan, const std::vector<T>& inputs) {
  std::vector<T> stack;
  for (auto operation : plan.operations) {
    if (operation != reduction_plan::add) {
      stack.push_back(inputs.at(static_cast<size_t>(operation)));
      continue;
    }
    const T right = stack.back();
    stack.pop_back();
    stack.back() = stack.back() + right;
  }
  return stack.at(0);
}

} // namespace troupe
