// Sums parts in the order of a canonical binary tree, with memory of its depth only.
//
// The tree over n parts splits at the largest power of two below n. Parts are pushed in order; like
// a binary counter, equal-sized neighbours merge at once, and what is left merges from the right.
// The result's bits depend on the parts and their order alone, however they were made.

#pragma once

#include <bit>
#include <cstddef>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace troupe {

/// Size of the left child of a node over `count` > 1 parts: the largest power of two below it.
constexpr size_t left_size(size_t count) {
  return std::bit_floor(count - 1);
}

/// The sum of the parts [begin, end), a node of the tree, where each is `part(i)` or does not exist;
/// nothing when none does. A node with one child that exists is that child.
template <class T, class Part>
std::optional<T> sum_along_tree(size_t begin, size_t end, const Part& part) {
  if (end - begin == 1)
    return part(begin);
  const auto middle = begin + left_size(end - begin);
  const auto left = sum_along_tree<T>(begin, middle, part);
  const auto right = sum_along_tree<T>(middle, end, part);
  return left && right ? std::optional<T>{*left + *right} : left ? left : right;
}

/// T needs `T operator+(const T&, const T&)`; left operands are earlier parts.
template <class T>
class tree_accumulator {
public:
  void push(T part) {
    size_t weight = 1;
    while (!held_.empty() && held_.back().weight == weight) {
      part = held_.back().value + part;
      weight *= 2;
      held_.pop_back();
    }
    held_.push_back({weight, std::move(part)});
  }

  /// Sum of all parts; `T{}` when there were none.
  T total() const {
    if (held_.empty())
      return T{};
    T result = held_.back().value;
    for (size_t i = held_.size() - 1; i-- > 0;)
      result = held_[i].value + result;
    return result;
  }

  bool empty() const { return held_.empty(); }

private:
  struct entry {
    size_t weight; ///< parts below it: a power of two, falling along `held_`
    T value;
  };
  std::vector<entry> held_;
};

// Sums over a model that is cut into parts: each block of fixed size has its numbers, and those of all
// blocks are added in one tree over the blocks. So a total does not depend on the blocks' owners.

/// Elements of a block.
inline constexpr size_t norm_block_size = 4096;

/// Numbers of blocks in order, `count` of each: the sums over the blocks. (count)
std::vector<double> totals_of_blocks(std::span<const double> numbers, size_t count);

} // namespace troupe
